import { EventEmitter } from "node:events";
import { type Readable, Writable } from "node:stream";
import { type Direction, type Payload, whole } from "../src/message/message.ts";
import { parsePattern } from "../src/policy/patterns.ts";
import { createToolFilter } from "../src/policy/tool-filter.ts";
import { createWitness } from "../src/record/witness.ts";
import { createLearner } from "../src/relay/learn.ts";
import { createOutlet } from "../src/relay/outlet.ts";
import { createPassage } from "../src/relay/passage.ts";
import { pump } from "../src/relay/pump.ts";
import { LINES } from "../src/session/exchange.ts";
import { createSession } from "../src/session/session.ts";
import { FIRST_LIST } from "./micro-cases.ts";

/** All stages of a proxy without its processes, to measure their cost. */
export function createPath(isFiltering: boolean) {
  const session = createSession({ maxOpenCalls: 1000, learnsTools: () => isFiltering, say: () => {}, now });
  const witness = createWitness({
    reporter: { report: fail, end: () => {} },
    audit: null,
    auditAll: false,
    time: Date.now,
    now,
  });
  const filter = isFiltering ? createToolFilter({ deny: [parsePattern("^file_", "deny")], allow: [] }) : null;
  const learner = createLearner({ session, timeoutMs: 1000 });
  const passage = createPassage({
    session,
    rulebook: { current: { policy: { tools: filter }, chain: null, observe: false } },
    learner,
    witness,
    maxParkedBytes: 1_000_000,
  });
  const sources = { up: createSource(), down: createSource() };
  const outlets = { up: createOutlet(createSink(), fail), down: createOutlet(createSink(), fail) };
  const shared = { passage, exchange: LINES, witness, maxMessageBytes: 10_485_760 };
  void pump({ direction: "up", source: sources.up, onward: outlets.up, back: outlets.down }, shared);
  void pump({ direction: "down", source: sources.down, onward: outlets.down, back: outlets.up }, shared);

  function pass(request: Payload | null, message: Payload, direction: Direction): void {
    if (request !== null) void passage.pass(request, "up", LINES);
    void passage.pass(message, direction, LINES);
  }
  pass(whole(FIRST_LIST.request), whole(FIRST_LIST.message), "down"); // so that calls can be judged
  return {
    /** Processes one message without framing; for a response, its request first. */
    pass,
    /** Takes bytes as they would arrive from one side. */
    push: (direction: Direction, chunk: Buffer): void => void sources[direction].emit("data", chunk),
  };
}

/** A stream that discards everything. */
export function createSink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

function createSource(): Readable {
  return Object.assign(new EventEmitter(), { pause: () => {}, resume: () => {} }) as unknown as Readable;
}

const now = (): number => performance.now();

function fail(what: unknown): void {
  throw new Error(String(what));
}
