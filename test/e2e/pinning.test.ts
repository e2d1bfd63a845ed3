import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import type { Spoken } from "../support/peers.ts";
import { COMMAND } from "../support/processes.ts";
import { openShelf, type Shelf, type ShelfClient, WAYS } from "../support/shelf.ts";

let shelf: Shelf;
let file: string;
let options: ProxyOptions;
beforeEach(() => {
  shelf = openShelf({ tools: [tool("a"), tool("b")] });
  file = join(shelf.folder, "fairlead.lock");
  options = { names: { tools: { pin: file } } };
});
afterEach(() => shelf.close());

const tool = (name: string, description = name): object => ({ name, description, inputSchema: { type: "object" } });
const namesIn = ({ result }: Spoken): string[] =>
  ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);
const callOf = (ask: ShelfClient["ask"], name: string): Promise<Spoken> => ask("tools/call", { name, arguments: {} });
const notFound = (name: string): object => ({ code: -32601, message: `Tool not found: ${name}` });

describe.each(WAYS)("%s", (way) => {
  const eras = [(client: ShelfClient) => client.ask, (client: ShelfClient) => client.askModern];

  test("what is first seen is remembered; what is not so later is hidden and refused", async () => {
    await shelf.talk(way, options, async ({ ask }) => expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]));
    expect(shelf.said.filter((line) => line.includes("first connection to this server"))).toHaveLength(1);
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")) as object)).toEqual(["version", "servers"]);
    shelf.stock({ tools: [tool("a", "evil"), tool("b"), tool("c")] });
    for (const how of eras) {
      await shelf.talk(way, options, async (client) => {
        const ask = how(client);
        expect(namesIn(await ask("tools/list"))).toEqual(["b"]);
        expect((await callOf(ask, "a")).error).toEqual(notFound("a"));
        expect((await callOf(ask, "c")).error).toEqual(notFound("c"));
        expect((await callOf(ask, "b")).error).toBeUndefined();
      });
    }
    const hidden = 'it is hidden until you accept it with "fairlead tools --accept" rule="tools:pin"';
    expect(shelf.said).toContain(`warn  a tool has changed: ${hidden} tool="a"`);
    expect(shelf.said).toContain(`warn  a tool is new: ${hidden} tool="c"`);
    expect(shelf.heard("tools/call").map(({ params }) => params?.["name"])).toEqual(["b", "b"]);
  });

  test("a call that comes first is judged by what was accepted", async () => {
    await shelf.talk(way, options, async ({ ask }) => expect((await callOf(ask, "a")).error).toBeUndefined());
    shelf.stock({ tools: [tool("a", "evil"), tool("b")] });
    await shelf.talk(way, options, async ({ ask }) => expect((await callOf(ask, "a")).error).toEqual(notFound("a")));
  });

  test("a tool that changes in the middle of a session is hidden from then on", async () => {
    const says = { "prompts/list": [{ method: "notifications/tools/list_changed" }] };
    shelf.stock({ tools: [tool("a"), tool("b")], says });
    const manners = { names: { tools: { pin: file, refresh: "on_change" } } } as const;
    await shelf.talk(way, manners, async ({ ask, unasked }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]);
      shelf.stock({ tools: [[tool("b")], [tool("a", "evil")]], says });
      while (unasked.length === 0) {
        await ask("prompts/list");
        await delay(20);
      }
      expect((await callOf(ask, "a")).error).toEqual(notFound("a"));
      expect(namesIn(await ask("tools/list"))).toEqual(["b"]);
    });
  });

  test("another list in the other era was never accepted", async () => {
    shelf.stock({ tools: [tool("a"), tool("b")], modern: [tool("a", "evil"), tool("b")] });
    await shelf.talk(way, options, async ({ ask, askModern }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]);
      expect(namesIn(await askModern("tools/list"))).toEqual(["b"]);
      expect((await callOf(askModern, "a")).error).toEqual(notFound("a"));
      expect((await callOf(ask, "a")).error).toBeUndefined();
    });
  });

  test("a tool that is only flagged passes", async () => {
    await shelf.talk(way, options, async ({ ask }) => expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]));
    shelf.stock({ tools: [tool("a", "other"), tool("b")] });
    const flagging: ProxyOptions = { names: { tools: { pin: { file, onChange: "flag" } } } };
    await shelf.talk(way, flagging, async ({ ask }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]);
      expect((await callOf(ask, "a")).error).toBeUndefined();
    });
    expect(shelf.said.some((line) => line.startsWith("warn  a tool has changed: look at it"))).toBe(true);
  });
});

const run = (...args: string[]) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [COMMAND, "tools", ...args], {
    cwd: shelf.folder,
    encoding: "utf8",
  });
  return { stdout, stderr, status };
};

const states = (stdout: string): Record<string, string> =>
  Object.fromEntries(
    (JSON.parse(stdout) as { tools: { name: string; pin: string }[] }).tools.map(({ name, pin }) => [name, pin]),
  );

describe("fairlead tools", () => {
  test.each(["command", "url"])("shows how tools stand to what was accepted, and accepts them: %s", async (kind) => {
    const server = kind === "url" ? ["--upstream", await shelf.url()] : ["--", ...shelf.command];
    const shown = run("--pin", "fairlead.lock", ...server);
    expect(shown).toMatchObject({ status: 0 });
    expect(shown.stdout).toContain("fairlead.lock has no entry for this server yet.");
    expect(existsSync(file)).toBe(false);

    expect(run("--accept", ...server)).toMatchObject({ status: 0 });
    shelf.stock({ tools: [tool("a", "other"), tool("bee", "b"), tool("c")] });
    const later = run("--pin", file, "--format", "json", ...server);
    expect(states(later.stdout)).toEqual({ a: "changed", bee: "renamed", c: "new" });
    expect(later.status).toBe(2);

    const some = run("--accept", "a", "b", "--pin", file, ...server);
    expect(some).toMatchObject({ status: 0 });
    expect(some.stdout).toContain(`Accepted in ${file}: a.`);
    const after = run("--pin", file, "--format", "json", ...server);
    expect(states(after.stdout)).toEqual({ a: "unchanged", bee: "new", c: "new" });

    const none = run("--accept", "nobody", "--pin", file, ...server);
    expect(none).toMatchObject({ status: 1, stdout: "" });
    expect(none.stderr).toContain("Error: Cannot accept nobody");
    expect(run("--accept", "--pin", file, ...server)).toMatchObject({ status: 0 });
    expect(run("--pin", file, ...server)).toMatchObject({ status: 0 });
  });

  test("accepts a tool as it is in both eras", async () => {
    shelf.stock({ tools: [tool("a"), tool("b")], modern: [tool("a", "in other words"), tool("b")] });
    expect(run("--accept", "--pin", file, "--", ...shelf.command)).toMatchObject({ status: 0 });
    await shelf.talk("stdio → stdio", options, async ({ ask, askModern }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["a", "b"]);
      expect(namesIn(await askModern("tools/list"))).toEqual(["a", "b"]);
    });
    shelf.stock({ tools: [tool("a")], modern: [tool("a", "in evil words")] });
    await shelf.talk("stdio → stdio", options, async ({ askModern }) =>
      expect(namesIn(await askModern("tools/list"))).toEqual([]),
    );
  });

  test("what it accepts is what the proxy goes by, under the same name", async () => {
    expect(run("--accept", "--pin", file, "--", ...shelf.command)).toMatchObject({ status: 0 });
    shelf.stock({ tools: [tool("a", "evil"), tool("b")] });
    await shelf.talk("stdio → stdio", options, async ({ ask }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["b"]);
      expect(run("--accept", "a", "--pin", file, "--", ...shelf.command)).toMatchObject({ status: 0 });
      await expect.poll(async () => namesIn(await ask("tools/list")), { timeout: 5000 }).toEqual(["a", "b"]);
    });
  });

  test("a lock file that is none ends it before anything is started", () => {
    spawnSync("sh", ["-c", `echo '{' > ${file}`]);
    const { status, stderr } = run("--pin", file, "--", ...shelf.command);
    expect(status).toBe(1);
    expect(stderr).toContain("Error: Not a lock file");
    expect(existsSync(join(shelf.folder, "stock.json.heard"))).toBe(false);
  });
});
