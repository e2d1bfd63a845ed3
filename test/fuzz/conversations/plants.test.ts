import { describe, expect, test, vi } from "vitest";
import { converse, describeConversations } from "./conversations.ts";
import { isFull } from "../../support/runs.ts";
import { type Plant, PLANTS } from "./plants.ts";

const planted = vi.hoisted(() => ({ current: {} as Partial<Plant> }));

vi.mock(import("../../../src/session/calls.ts"), async (original) => {
  const real = await original();
  const createCallTable: typeof real.createCallTable = (...args) => {
    const table = real.createCallTable(...args);
    return planted.current.calls?.(table, args[0]) ?? table;
  };
  return { ...real, createCallTable };
});
vi.mock(import("../../../src/link/upstream/pool.ts"), async (original) => {
  const real = await original();
  const createPool: typeof real.createPool = (...args) => {
    const pool = real.createPool(...args);
    return planted.current.pool?.(pool) ?? pool;
  };
  return { ...real, createPool };
});
vi.mock(import("../../../src/relay/passage.ts"), async (original) => {
  const real = await original();
  const createPassage: typeof real.createPassage = (options) => {
    const passage = real.createPassage(options);
    return planted.current.passage?.(passage, options) ?? passage;
  };
  return { ...real, createPassage };
});
vi.mock(import("../../../src/session/session.ts"), async (original) => {
  const real = await original();
  const createSession: typeof real.createSession = (options) => {
    const session = real.createSession(options);
    return planted.current.session?.(session) ?? session;
  };
  return { ...real, createSession };
});
vi.mock(import("../../../src/bridge/guest-book.ts"), async (original) => {
  const real = await original();
  const createGuestBook: typeof real.createGuestBook = (options) => {
    const guests = real.createGuestBook(options);
    return planted.current.guests?.(guests) ?? guests;
  };
  return { ...real, createGuestBook };
});
vi.mock(import("../../../src/relay/batch.ts"), async (original) => {
  const real = await original();
  const passBatch: typeof real.passBatch = (...args) => {
    const outcome = real.passBatch(...args);
    return planted.current.batch?.(outcome) ?? outcome;
  };
  return { ...real, passBatch };
});
vi.mock(import("../../../src/policy/tools.ts"), async (original) => {
  const real = await original();
  const judgeTools: typeof real.judgeTools = (...args) => {
    const decision = real.judgeTools(...args);
    return planted.current.tools?.(decision) ?? decision;
  };
  return { ...real, judgeTools };
});
vi.mock(import("../../../src/bridge/aliases.ts"), async (original) => {
  const real = await original();
  const rename: typeof real.rename = (message, number) => {
    const renamed = real.rename(message, number);
    const { bytes, start, end } = message;
    return planted.current.keepsIds === true ? { ...renamed, payload: bytes.subarray(start, end) } : renamed;
  };
  return { ...real, rename };
});

const plants = Object.entries(PLANTS) as [keyof typeof PLANTS, Plant][];

describe("conversations", () => {
  test.each(plants)("find out a proxy that %s", { timeout: 120_000 }, async (_, plant) => {
    planted.current = plant;
    const started = performance.now();
    const report = await converse({
      seed: isFull ? 1 : (plant.seed ?? 1),
      seconds: 100,
      conversations: 4000,
      shrinkSeconds: 0,
      limitMs: 1000,
      pair: plant.pair,
      wanted: plant.complaint,
    });
    planted.current = {};
    expect(report.found, describeConversations(report, performance.now() - started)).not.toBeNull();
  });
});
