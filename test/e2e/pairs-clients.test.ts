import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { listenBefore, type Start, startTarget, withPrograms } from "../support/pairs.ts";
import {
  initialize,
  INITIALIZED,
  MODERN,
  peer,
  type Peer,
  request,
  requirePeer,
  runProgram,
  scene,
  type Scene,
  SDK_V1,
  SDK_V2,
  SDK_V2_AUTO,
  SDK_V2_PINNED,
  type SdkClient,
  type SdkPeer,
  type Spoken,
  talkTo,
  titleOf,
} from "../support/peers.ts";
import { COMMAND } from "../support/processes.ts";

const DENY = ["--deny", "^secret_"];
const SHOWN = ["confirm", "echo", "fail", "grow", "slow", "weather"];

/** Fairlead in every position before the server on the newest SDK. */
interface Stand {
  readonly stage: Scene;
  /** By HTTP, before a process and before a server by HTTP. */
  readonly urls: readonly string[];
  /** On stdio, before the server by HTTP. */
  readonly command: readonly string[];
}

async function stand(stage: Scene, act: (at: Stand) => Promise<void>): Promise<void> {
  await withPrograms(async (start: Start) => {
    const target = await startTarget(stage, start, "modern", "http");
    const upstream = ["--upstream", target.recorder?.url ?? ""];
    try {
      const gateways = await Promise.all([
        listenBefore(stage, start, ["--", ...MODERN.command], ...DENY),
        listenBefore(stage, start, upstream, ...DENY),
      ]);
      const command = [process.execPath, COMMAND, ...DENY, ...upstream];
      await act({ stage, urls: gateways.map(({ url }) => url), command });
    } finally {
      await target.stop();
    }
  });
}

describe("clients of others, through every pair of transports", () => {
  for (const sdk of [SDK_V1, SDK_V2, SDK_V2_AUTO, SDK_V2_PINNED]) {
    scene(`${sdk.title}: lists, calls, progress and questions`, async (stage) => {
      await stand(stage, async ({ urls, command }) => {
        await Promise.all([
          drive(sdk, (options) => sdk.connect(stage, command, options)),
          ...urls.map((url) => drive(sdk, (options) => sdk.connectTo(`${url}/mcp`, "http", options))),
        ]);
        if (sdk.revision === "2026-07-28") return; // the older transport is not of that revision
        await Promise.all(urls.map((url) => drive(sdk, (options) => sdk.connectTo(`${url}/sse`, "sse", options))));
      });
    });
  }

  const INSPECTOR = peer("@modelcontextprotocol/inspector", "mcp-inspector", "--cli");
  scene(`${INSPECTOR.title} on the command line`, async (stage) => {
    await stand(stage, async ({ urls, command }) => {
      const places = urls.flatMap((url) => [
        [`${url}/mcp`, "--transport", "http"],
        [`${url}/sse`, "--transport", "sse"],
      ]);
      await Promise.all(
        [...places, command].map(async (place) => {
          const inspector = [...onNode22(INSPECTOR), ...place];
          const listed = await runProgram(stage, [...inspector, "--method", "tools/list"]);
          expect(namesIn(listed.stdout), listed.stderr).toEqual(SHOWN);
          const words = ["--method", "tools/call", "--tool-name", "weather", "--tool-arg", "city=Åbo"];
          const called = await runProgram(stage, [...inspector, ...words]);
          expect(called.stdout, called.stderr).toContain("Åbo");
        }),
      );
    });
  });

  // It takes the first two dashes for its own, and --config too: docs/transports.md says how to write it.
  scene(`${INSPECTOR.title} starts Fairlead behind two dashes of its own`, async (stage) => {
    const fairlead = [process.execPath, COMMAND];
    const server = [...fairlead, "demo-server"];
    const policy = join(stage.folder, "fairlead.yaml");
    writeFileSync(policy, `upstream: { command: ${JSON.stringify(server)} }\ntools: { deny: ["^delete_"] }\n`);
    const forms = [
      [...fairlead, "--config", policy],
      [...fairlead, "--deny", "^delete_", "--", ...server],
    ];
    for (const form of forms) {
      const inspector = [...onNode22(INSPECTOR), "--method", "tools/list", "--"];
      const { stdout, stderr } = await runProgram(stage, [...inspector, ...form]);
      expect(namesIn(stdout), stderr).toEqual(["list_notes", "write_note"]);
    }
  });

  const MCPORTER = peer("mcporter", "mcporter");
  scene(`${MCPORTER.title} with a URL in its config`, async (stage) => {
    await stand(stage, async ({ urls, command }) => {
      const [program, ...args] = command;
      const places = [
        ...urls.flatMap((url) => [{ baseUrl: `${url}/mcp` }, { baseUrl: `${url}/sse` }]),
        { command: program, args },
      ];
      const mcpServers = Object.fromEntries(places.map((place, nth) => [`s${nth}`, place]));
      writeFileSync(join(stage.folder, "mcporter.json"), JSON.stringify({ mcpServers, imports: [] }));
      const mcporter = [...MCPORTER.command, "--config", join(stage.folder, "mcporter.json")];
      await Promise.all(
        Object.keys(mcpServers).map(async (name) => {
          const listed = await runProgram(stage, [...mcporter, "list", name, "--json"]);
          expect(namesIn(listed.stdout), listed.stderr).toEqual(SHOWN);
          const called = await runProgram(stage, [...mcporter, "call", `${name}.weather`, "city=Åbo"]);
          expect(called.stdout, called.stderr).toContain("Åbo");
        }),
      );
    });
  });

  const REMOTE = peer("mcp-remote", "mcp-remote");
  scene(`${REMOTE.title} before Fairlead`, async (stage) => {
    await stand(stage, async ({ urls }) => {
      const places = urls.flatMap((url) => [[`${url}/mcp`], [`${url}/sse`, "--transport", "sse-only"]]);
      for (const [url, ...words] of places) {
        const talk = talkTo(stage, [...REMOTE.command, url, "--allow-http", ...words]);
        await talk.ask(initialize());
        talk.write(INITIALIZED);
        const pages = [{}, { cursor: "3" }, { cursor: "6" }];
        const lists = await Promise.all(pages.map((params, id) => talk.ask(request(id + 1, "tools/list", params))));
        expect(lists.flatMap(namesIn).toSorted()).toEqual(expect.arrayContaining(SHOWN));
        const denied = JSON.parse(await talk.ask(request(9, "tools/call", { name: "secret_read" }))) as Spoken;
        expect(denied.error?.message).toContain("Tool not found: secret_read");
        await talk.end(500);
      }
    });
  });

  scene(titleOf("@ai-sdk/mcp"), async (stage) => {
    const { createMCPClient } = requirePeer("@ai-sdk/mcp") as AiSdk;
    const { Experimental_StdioMCPTransport: Stdio } = requirePeer("@ai-sdk/mcp/mcp-stdio") as AiStdio;
    await stand(stage, async ({ urls, command }) => {
      const [program, ...args] = command;
      const places: unknown[] = [
        ...urls.flatMap((url) => [
          { type: "http", url: `${url}/mcp` },
          { type: "sse", url: `${url}/sse` },
        ]),
        new Stdio({ command: program, args, env: { ...stage.env }, stderr: "ignore" }),
      ];
      for (const transport of places) {
        const client = await createMCPClient({ transport });
        const tools = await client.tools();
        expect(Object.keys(tools)).toContain("echo");
        expect(Object.keys(tools)).not.toContain("secret_read");
        const result = await tools["echo"].execute({ message: "ä" }, { toolCallId: "1", messages: [] });
        expect(JSON.stringify(result)).toContain("ä");
        await client.close();
      }
    });
  });
});

interface AiSdk {
  readonly createMCPClient: (options: { transport: unknown }) => Promise<{
    tools(): Promise<Record<string, { execute(args: object, context: object): Promise<unknown> }>>;
    close(): Promise<void>;
  }>;
}

interface AiStdio {
  readonly Experimental_StdioMCPTransport: new (options: object) => unknown;
}

type Options = Parameters<SdkPeer["connect"]>[2];

async function drive(sdk: SdkPeer, connect: (options: Options) => Promise<SdkClient>): Promise<void> {
  const asked: string[] = [];
  const answer = (result: object) => (asking: Spoken) => {
    asked.push(asking.method ?? "");
    return { ...result };
  };
  const client = await connect({
    capabilities: { roots: {}, sampling: {}, elicitation: {} },
    answers: {
      "roots/list": answer({ roots: [] }),
      "sampling/createMessage": answer({ role: "assistant", model: "m", content: { type: "text", text: "ä" } }),
      "elicitation/create": answer({ action: "accept", content: { sure: true } }),
    },
  });
  expect(client.getNegotiatedProtocolVersion?.() ?? sdk.revision).toBe(sdk.revision);
  expect((await listAll(client)).filter((name) => name.startsWith("secret"))).toEqual([]);
  expect(JSON.stringify(await client.call("echo", { message: "ä\u2028" }))).toContain("ä");
  await client.call("weather", { city: "Åbo" });
  let steps = 0;
  await client.call("slow", { steps: 3, pause: 20 }, { onprogress: () => steps++ });
  expect(steps).toBeGreaterThanOrEqual(2);
  await client.call("confirm");
  expect(asked).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
  await expect(client.call("secret_read")).rejects.toThrow("Tool not found: secret_read");
  await client.readResource({ uri: "file:///readme.md" });
  await client.getPrompt({ name: "greet", arguments: { who: "you" } });
  await client.close();
}

async function listAll(client: SdkClient): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined, page = 0; page < 5; page++) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor });
    names.push(...tools.map(({ name }) => name));
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  return names;
}

/** The names of tools in what a program printed. */
function namesIn(text: string): string[] {
  const names = [...text.matchAll(/"name":\s*"([a-z_]+)",?\s*(?:"title"|"description"|"inputSchema")/g)].map(
    ([, name]) => name,
  );
  return names.filter((name, index) => names.indexOf(name) === index).toSorted();
}

/** The inspector asks for Node 22: ours, where it is, or one from npm. */
function onNode22({ command }: Peer): string[] {
  if (Number(process.versions.node.split(".")[0]) >= 22) return [...command];
  const node = join(
    import.meta.dirname,
    "../peers/node_modules",
    `node-${process.platform}-${process.arch}`,
    "bin/node",
  );
  return existsSync(node) ? [node, ...command.slice(1)] : [...command];
}
