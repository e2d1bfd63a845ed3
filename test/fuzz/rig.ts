import { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setImmediate as turnOver } from "node:timers/promises";
import { createWitness } from "../../src/record/witness.ts";
import { createLearner } from "../../src/relay/learn.ts";
import { createOutlet } from "../../src/relay/outlet.ts";
import { createPassage, type Passage } from "../../src/relay/passage.ts";
import { pump } from "../../src/relay/pump.ts";
import { LINES } from "../../src/session/exchange.ts";
import { createSession } from "../../src/session/session.ts";
import { denying } from "../support/play.ts";
import type { Direction, World } from "./model.ts";

/** What both sides heard, as lines in latin1. Requests of the relay's own are answered, and left out. */
export interface Said {
  readonly server: readonly string[];
  readonly client: readonly string[];
}

/** A relay in the middle of a conversation, without processes and without waiting. */
export interface Rig {
  /** Brings bytes in one chunk, and says what was heard because of them. */
  feed(bytes: Buffer, direction: Direction): Said | Promise<Said>;
}

/** Something planted between the pump and the passage, to see whether anybody notices. */
export type Plant = (passage: Passage) => Passage;

/** The tools of the world the fuzzer lives in. */
export const WORLD: World = {
  denied: /^denied_tool$/,
  tools: [
    ["safe_tool", "denied_tool", "Denied_Tool", "denied_tool_2", "constructor", "__proto__", "a:b*[x]"],
    ["toString", "ｄenied_tool", "safe\u200btool"],
  ].flat(),
  revision: null,
};

/** What was said before, in both directions. Each request in it is still open, but for the two of the beginning. */
const PROLOGUE: readonly { readonly line: string; readonly direction: Direction }[] = [
  { direction: "up", line: '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{}}' },
  { direction: "down", line: "{revision}" },
  { direction: "up", line: '{"jsonrpc":"2.0","id":"list","method":"tools/list"}' },
  { direction: "down", line: toolList('"list"') },
  { direction: "up", line: '{"jsonrpc":"2.0","id":5,"method":"ping"}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"safe_tool"}}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{}}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":11,"method":"tasks/get","params":{"taskId":"t1"}}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}' },
  { direction: "down", line: '{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}' },
  { direction: "down", line: '{"jsonrpc":"2.0","id":"r","method":"roots/list"}' },
];

/** What is added where the server is the one who misbehaves: lists that are waited for. */
export const UNKNOWN_TOOLS: readonly { readonly line: string; readonly direction: Direction }[] = [
  { direction: "down", line: '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}' },
  { direction: "up", line: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"two"}}' },
];

/** The beginning of a conversation that settled on this revision. */
export function prologue(direction: Direction, revision: string | null): readonly Spoken[] {
  const key = `${direction} ${revision}`;
  const said = prologues.get(key) ?? composePrologue(direction, revision);
  prologues.set(key, said);
  return said;
}

/** A line that was said, with its newline. */
export interface Spoken {
  readonly line: Buffer;
  readonly direction: Direction;
}

const prologues = new Map<string, readonly Spoken[]>();

function composePrologue(direction: Direction, revision: string | null): Spoken[] {
  const result = { protocolVersion: revision ?? "2025-11-25", capabilities: { tools: {} } };
  const hello = JSON.stringify({ jsonrpc: "2.0", id: "hello", result });
  return [...PROLOGUE, ...(direction === "down" ? UNKNOWN_TOOLS : [])].map((said) => ({
    direction: said.direction,
    line: Buffer.from(`${said.line === "{revision}" ? hello : said.line}\n`),
  }));
}

const now = (): number => 0;

const FILTER = denying(WORLD.denied.source);

/** Puts a relay together and brings it to the place where the fuzzing begins. */
export function createRig(direction: Direction, revision: string | null, plant: Plant = (passage) => passage): Rig {
  const heard: Record<"server" | "client", string[]> = { server: [], client: [] };
  const sources = { up: new EventEmitter(), down: new EventEmitter() };
  const toServer = createOutlet(sink(heard.server), () => {});
  const toClient = createOutlet(sink(heard.client), () => {});
  const session = createSession({
    maxOpenCalls: 1000,
    learnsTools: () => true,
    say: (way, payload) => (way === "up" ? toServer : toClient).writeLine(payload),
    now,
  });
  const witness = createWitness({
    reporter: { report: (kind, text) => complain(kind, text), end: () => {} },
    audit: null,
    auditAll: false,
    time: now,
    now,
  });
  const passage = plant(
    createPassage({
      session,
      rulebook: { current: { policy: FILTER, chain: null, observe: false } },
      learner: createLearner({ session, timeoutMs: 1000 }),
      witness,
      maxParkedBytes: 1024 * 1024,
    }),
  );
  const shared = { passage, exchange: LINES, witness, maxMessageBytes: 10 * 1024 * 1024 };
  const source = (way: Direction): Readable => sources[way] as unknown as Readable;
  void pump({ direction: "up", source: source("up"), onward: toServer, back: toClient }, shared);
  void pump({ direction: "down", source: source("down"), onward: toClient, back: toServer }, shared);
  for (const { line, direction: way } of prologue(direction, revision)) sources[way].emit("data", line);
  take("server");
  take("client");

  function take(side: "server" | "client"): string[] {
    if (heard[side].length === 0) return [];
    const lines = heard[side].splice(0).join("").split("\n");
    const rest = lines.pop();
    if (rest !== "") lines.push(`no newline: ${rest}`);
    return lines;
  }

  function isOwn(line: string): boolean {
    return line.startsWith(`{"jsonrpc":"2.0","id":"fairlead-${session.id}-`);
  }

  async function answerOwn(said: Said): Promise<Said> {
    const server = said.server.filter((line) => !isOwn(line));
    const client = [...said.client];
    for (let own = said.server.filter(isOwn); own.length > 0;) {
      for (const line of own)
        sources.down.emit("data", Buffer.from(`${toolList(line.split('"id":')[1].split(",")[0])}\n`));
      await turnOver();
      const more = take("server");
      server.push(...more.filter((line) => !isOwn(line)));
      client.push(...take("client"));
      own = more.filter(isOwn);
    }
    return { server, client };
  }

  return {
    feed(bytes, way) {
      sources[way].emit("data", bytes);
      const said = { server: take("server"), client: take("client") };
      return said.server.some(isOwn) ? answerOwn(said) : said;
    },
  };
}

function toolList(id: string): string {
  const tools = WORLD.tools.map((name) => ({ name, inputSchema: { type: "object" } }));
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify({ tools })}}`;
}

/** A fault of ours that was caught is a find all the same. */
function complain(kind: string, text: string): void {
  if (kind === "internal") throw new Error(`the relay failed on itself: ${text}`);
}

function sink(into: string[]): Writable {
  const stream = { writableLength: 0, write: (bytes: Buffer) => into.push(bytes.toString("latin1")), on: () => {} };
  return stream as unknown as Writable;
}
