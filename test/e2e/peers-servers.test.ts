import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  call,
  expectSameDrive,
  expectSameTalk,
  initialize,
  INITIALIZED,
  KUBERNETES,
  linesOf,
  modernRequest,
  peer,
  type Peer,
  request,
  type Scene,
  scene,
  SDK_V1,
  SDK_V2,
  SDK_V2_AUTO,
  SDK_V2_PINNED,
  type SdkPeer,
  type Spoken,
  type Talk,
} from "../support/peers.ts";

const FILES = peer("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", "files");
const MEMORY = peer("@modelcontextprotocol/server-memory", "mcp-server-memory");
const CONTEXT7 = peer("@upstash/context7-mcp", "context7-mcp");

describe(`${FILES.title}, no filter`, () => {
  scene("files are read, written and looked for: the same bytes with Fairlead as without", async (stage) => {
    const transcript = await expectSameTalk(stage, FILES, (talk) => talkAboutFiles(talk, stage), { prepare: layFiles });
    expect(answersIn(transcript).filter(({ result }) => result?.["structuredContent"] !== undefined).length).toBe(8);
  });

  scene(`the same with ${SDK_V1.title}`, async (stage) => {
    const path = join(stage.folder, "files", "a.txt");
    await expectSameDrive(
      stage,
      FILES,
      async (command) => {
        const client = await SDK_V1.connect(stage, command);
        await client.listTools();
        await client.call("read_text_file", { path });
        await client.call("edit_file", { path, edits: [{ oldText: "ä", newText: "“€”" }], dryRun: true });
        await client.close();
      },
      { prepare: layFiles },
    );
  });
});

describe(`${MEMORY.title}, no filter`, () => {
  scene("things are remembered and forgotten: the same bytes with Fairlead as without", async (stage) => {
    await expectSameTalk(stage, rememberingIn(stage), talkAboutMemories, { prepare: forget });
  });

  scene(`the same with ${SDK_V2.title}`, async (stage) => {
    await expectSameDrive(
      stage,
      rememberingIn(stage),
      async (command) => {
        const client = await SDK_V2.connect(stage, command);
        await client.listTools();
        const ada = { name: "Ada", entityType: "person", observations: ["1815\u2028"] };
        await client.call("create_entities", { entities: [ada] });
        await client.call("read_graph");
        await client.close();
      },
      { prepare: forget },
    );
  });
});

describe(`${CONTEXT7.title}, no filter`, () => {
  scene("in the older era: the same bytes with Fairlead as without", async (stage) => {
    await expectSameTalk(stage, CONTEXT7, talkInOldEra);
  });

  scene("in 2026-07-28: the same", async (stage) => {
    await expectSameTalk(stage, CONTEXT7, talkInNewEra);
  });

  for (const client of [SDK_V2, SDK_V2_AUTO, SDK_V2_PINNED]) {
    scene(`the same with ${client.title}`, async (stage) => {
      await expectSameDrive(stage, CONTEXT7, (command) => listAndFail(stage, client, command));
    });
  }
});

if (KUBERNETES === null) test.skip("kubernetes-mcp-server: its build for this platform is not among the peers");
else {
  const server = KUBERNETES;
  describe(`${server.title}, no filter`, () => {
    scene("in the older era: the same bytes with Fairlead as without", async (stage) => {
      await expectSameTalk(stage, server, talkInOldEra);
    });

    scene("in 2026-07-28: the same", async (stage) => {
      await expectSameTalk(stage, server, talkInNewEra);
    });

    for (const client of [SDK_V1, SDK_V2_AUTO, SDK_V2_PINNED]) {
      scene(`the same with ${client.title}`, async (stage) => {
        await expectSameDrive(stage, server, (command) => listAndFail(stage, client, command));
      });
    }
  });
}

async function talkAboutFiles(talk: Talk, stage: Scene): Promise<void> {
  const path = (name: string): string => join(stage.folder, "files", name);
  await talk.ask(initialize({ roots: { listChanged: true } }));
  talk.write(INITIALIZED);
  const asked = await talk.hear(({ method }) => method === "roots/list");
  const roots = `{"roots":[{"uri":"file://${stage.folder}/files"}]}`;
  talk.write(`{"jsonrpc":"2.0","id":${String((JSON.parse(asked) as Spoken).id)},"result":${roots}}\n`);
  await talk.ask(request("list", "tools/list", {}));
  await talk.ask(call(1, "read_text_file", { path: path("a.txt") }));
  await talk.ask(call(2, "read_media_file", { path: path("b.png") }));
  await talk.ask(call(3, "read_multiple_files", { paths: [path("a.txt"), path("none.txt")] }));
  await talk.ask(call(4, "write_file", { path: path("c.txt"), content: "\\\u0000“ä”\r\n" }));
  await talk.ask(call(5, "directory_tree", { path: path("") }));
  await talk.ask(call(6, "search_files", { path: path(""), pattern: "**/*.txt" }));
  await talk.ask(call(7, "list_allowed_directories"));
  await talk.ask(call(8, "read_text_file", { path: "/etc/passwd" }));
  await talk.ask(call(9, "read_text_file", { path: path("large.txt") }));
}

function layFiles({ folder }: Scene): void {
  rmSync(join(folder, "files"), { recursive: true, force: true });
  mkdirSync(join(folder, "files", "deep"), { recursive: true });
  writeFileSync(join(folder, "files", "a.txt"), "ä€😀\u2028 <b> \t \u0001 \r\n");
  writeFileSync(join(folder, "files", "b.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]));
  writeFileSync(join(folder, "files", "deep", "d.txt"), "");
  writeFileSync(join(folder, "files", "large.txt"), "0123456789ä\n".repeat(200_000));
}

async function talkAboutMemories(talk: Talk): Promise<void> {
  await talk.ask(initialize());
  talk.write(INITIALIZED);
  await talk.ask(request("list", "tools/list", {}));
  await talk.ask(call(1, "create_entities", { entities: ["Ada", "Βob"].map(person) }));
  await talk.ask(call(2, "create_relations", { relations: [{ from: "Ada", to: "Βob", relationType: "knows" }] }));
  await talk.ask(call(3, "add_observations", { observations: [{ entityName: "Nobody", contents: ["x"] }] }));
  await talk.ask(call(4, "search_nodes", { query: "ada" }));
  await talk.ask(call(5, "delete_entities", { entityNames: ["Βob"] }));
  await talk.ask(call(6, "read_graph"));
  await talk.ask(request(7, "resources/list", {}));
  await talk.ask(request(8, "prompts/list", {}));
}

function person(name: string): object {
  return { name, entityType: "person", observations: [`${name} “ä”`] };
}

function rememberingIn({ folder }: Scene): Peer {
  return {
    ...MEMORY,
    command: ["/usr/bin/env", `MEMORY_FILE_PATH=${join(folder, "memory.jsonl")}`, ...MEMORY.command],
  };
}

function forget({ folder }: Scene): void {
  rmSync(join(folder, "memory.jsonl"), { force: true });
}

async function talkInOldEra(talk: Talk): Promise<void> {
  await talk.ask(initialize());
  talk.write(INITIALIZED);
  for (const method of LISTS) await talk.ask(request(method, method, {}));
  await talk.ask('{"jsonrpc":"2.0","method":"ping","id":-1}');
  await talk.ask(call(2, "no_such_tool", { big: "“<&>”\u2028" }));
  await talk.ask(request(3, "no/such/method", {}));
  await talk.ask(call(4, "configuration_view", { minified: true }));
}

async function talkInNewEra(talk: Talk): Promise<void> {
  for (const method of ["server/discover", ...LISTS]) await talk.ask(modernRequest(method, method));
  await talk.ask(modernRequest(2, "tools/call", { name: "no_such_tool", arguments: { big: "“<&>”\u2028" } }));
  await talk.ask(modernRequest(3, "no/such/method"));
  await talk.ask(modernRequest(4, "tools/call", { name: "configuration_view", arguments: {} }));
  await talk.ask(modernRequest(5, "tools/list", {}, { "io.modelcontextprotocol/protocolVersion": "2099-01-01" }));
}

const LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/** What can be had without a network: the list, and a call that fails. */
async function listAndFail(stage: Scene, peerClient: SdkPeer, command: readonly string[]): Promise<void> {
  const client = await peerClient.connect(stage, command);
  expect((await client.listTools()).tools.length).toBeGreaterThan(1);
  const outcome = await client.call("no_such_tool").catch((error: unknown) => error);
  expect(outcome).toBeTruthy();
  await client.close();
}

function answersIn(transcript: Buffer): Spoken[] {
  return linesOf(transcript).map((line) => JSON.parse(line) as Spoken);
}
