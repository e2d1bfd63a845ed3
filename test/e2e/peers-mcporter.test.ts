import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { EVERYTHING, MODERN, peer, runProgram, scene, type Scene } from "../support/peers.ts";

const MCPORTER = peer("mcporter", "mcporter");

// The command line client reads the same kind of config as desktop clients do: Fairlead is put before the server's command there.
describe(`${MCPORTER.title} with Fairlead in its config`, () => {
  for (const [server, ...calls] of [
    [
      EVERYTHING,
      ["echo", "message=ä “b”"],
      ["get-structured-content", "location=Chicago"],
      ["get-tiny-image"],
      ["no-such-tool"],
    ],
    [MODERN, ["weather", "city=Åbo"], ["fail"]],
  ] as const) {
    scene(`${server.title}: list and call print the same as without Fairlead`, async (stage) => {
      const direct = configure(stage, "direct.json", server.command);
      const through = configure(stage, "through.json", stage.fairlead(server));
      const commands = [
        ["list", "it"],
        ["list", "it", "--json"],
        ...calls.map(([tool, ...args]) => ["call", `it.${tool}`].concat(args)),
      ];
      for (const words of commands) {
        const [without, with_] = await Promise.all([
          runProgram(stage, [...direct, ...words]),
          runProgram(stage, [...through, ...words]),
        ]);
        expect(without.stdout, words.join(" ")).not.toBe("");
        expect(steady(with_.stdout)).toBe(steady(without.stdout));
        expect(with_.code).toBe(without.code);
      }
      // It was Fairlead and the tee behind it that it spoke to, every time.
      expect(stage.tapes("server").length).toBe(commands.length);
    });
  }

  scene(
    `${EVERYTHING.title} with a filter: what is hidden is not listed, and calling it is an error`,
    async (stage) => {
      const mcporter = configure(stage, "filter.json", stage.fairlead(EVERYTHING, "--deny", "^get-"));
      const names = async (): Promise<string[]> => {
        const { stdout } = await runProgram(stage, [...mcporter, "list", "it", "--json"]);
        return (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name);
      };
      expect((await names()).filter((name) => name.startsWith("get-"))).toEqual([]);
      expect(await names()).toContain("echo");
      const denied = await runProgram(stage, [...mcporter, "call", "it.get-sum", "a=1", "b=2"]);
      expect(denied.stderr).toContain("MCP error -32601: Tool not found: get-sum");
      expect(denied.code).toBe(1);
      const unknown = await runProgram(stage, [...mcporter, "call", "it.get-nothing"]);
      expect(unknown.stderr).toContain("MCP error -32601: Tool not found: get-nothing");
      const allowed = await runProgram(stage, [...mcporter, "call", "it.echo", "message=hi"]);
      expect(allowed.stdout).toBe("Echo: hi\n");
      for (const { up } of stage.tapes("server")) expect(up.includes('"get-')).toBe(false);
    },
  );
});

/** Writes a config with one server, "it", and says how to start the client with it. */
function configure(stage: Scene, name: string, [command, ...args]: readonly string[]): string[] {
  const file = join(stage.folder, name);
  writeFileSync(file, JSON.stringify({ mcpServers: { it: { command, args, env: stage.env } } }));
  return [...MCPORTER.command, "--config", file];
}

/** Without what tells of the time it took and of the config: that one has Fairlead in it. */
function steady(output: string): string {
  return output
    .replaceAll(/\d+ms · STDIO .*/g, "<time and command>")
    .replaceAll(/"durationMs": \d+/g, '"durationMs": 0')
    .replaceAll(/"transport": ".*"/g, '"transport": ""')
    .replaceAll(/(direct|through)\.json/g, "config.json");
}
