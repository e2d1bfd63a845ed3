import type { Json } from "../../src/message/json.ts";
import {
  type Answers,
  createMemoryAnswers,
  type FoundAnswer,
  type MemoryAnswersOptions,
} from "../../src/store/answers.ts";
import { createMemoryInputs, type Inputs, type OpenInput } from "../../src/store/inputs.ts";
import {
  type AnswerKey,
  type InputKey,
  keyText,
  type LimitKey,
  type StoreKey,
  type TaskKey,
} from "../../src/store/keys.ts";
import { createMemoryLimits, type Limits, type MemoryLimitsOptions } from "../../src/store/limits.ts";
import { applyChange, createSessionData, type SessionChange, type SessionData } from "../../src/store/session-data.ts";
import type { MemorySessionsOptions, Sessions } from "../../src/store/sessions.ts";
import { createSharedSessions } from "../../src/store/shared-sessions.ts";
import type { ChainState } from "../../src/store/state.ts";
import { createMemoryTasks, type MemoryTasksOptions, type TaskOrigin, type Tasks } from "../../src/store/tasks.ts";

/** A wire to a store that is elsewhere: whatever is asked is answered later, and only text crosses it. */
export interface Wire {
  /** Has something done on the other side. Both ways are text: nothing is shared with who asks. */
  ask<Value>(value: unknown, serve: (value: never) => Value): Promise<Value>;
  /** How many questions were asked so far, and how many of them are open. */
  readonly asked: number;
  readonly open: number;
  /** From now on every question fails. */
  cut(): void;
}

/** How a wire behaves. */
export interface WireOptions {
  /** From zero to one: how long each question and each answer is on its way. */
  readonly random: () => number;
  /** Whether questions arrive in the order in which they were asked, as on one connection. */
  readonly ordered?: boolean;
}

/** Makes a wire. */
export function createWire({ random, ordered = false }: WireOptions): Wire {
  let asked = 0;
  let open = 0;
  let isCut = false;
  let line: Promise<unknown> = Promise.resolve();

  async function travel(): Promise<void> {
    const way = random();
    if (way < 0.2) return;
    if (way < 0.7) {
      for (let hop = 0; hop < 20 * way; hop++) await Promise.resolve();
      return;
    }
    await new Promise((resolve) => (way < 0.9 ? setImmediate(resolve) : setTimeout(resolve, 1)));
  }

  return {
    get asked() {
      return asked;
    },
    get open() {
      return open;
    },
    cut() {
      isCut = true;
    },
    async ask<Value>(value: unknown, serve: (value: never) => Value): Promise<Value> {
      asked++;
      open++;
      try {
        const text = encode(value);
        const before = line;
        const arrived = (async () => {
          await travel();
          if (ordered) await before;
          if (isCut) throw new Error("the store cannot be reached");
          return encode(serve(decode(text) as never));
        })();
        if (ordered) line = arrived.catch(() => {});
        const answer = await arrived;
        if (!ordered) await travel();
        return decode(answer) as Value;
      } finally {
        open--;
      }
    },
  };
}

/** What a late store is made of, part by part, so that tests can give each its bounds. */
export interface LateParts {
  limits(options: MemoryLimitsOptions): Limits;
  answers(options: MemoryAnswersOptions): Answers;
  sessions(options: MemorySessionsOptions): Sessions;
  tasks(options: MemoryTasksOptions): Tasks;
  inputs(now: () => number, maxInputs: number): Inputs;
}

/** The parts of a store at the other end of a wire. Keys cross it as their one string, and are taken apart there. */
export function lateParts(wire: Wire): LateParts {
  return {
    limits(options) {
      const limits = createMemoryLimits(options);
      return {
        take: (key, limit, windowMs) =>
          wire.ask([keyText(key), limit, windowMs], ([text, most, during]: [string, number, number]) =>
            limits.take(limitKey(text), most, during),
          ),
        forgetRules: (ids) => wire.ask(ids, (some: string[]) => limits.forgetRules(some)),
      };
    },
    answers(options) {
      const answers = createMemoryAnswers(options);
      let generation = 0;
      return {
        find: (key) =>
          wire.ask(`${generation} ${keyText(key)}`, (text: string): FoundAnswer | undefined =>
            answers.find({ ...NO_ANSWER, key: text }),
          ),
        keep: (key, answer, ttlMs) =>
          wire.ask(
            [`${generation} ${keyText(key)}`, answer, ttlMs],
            ([text, kept, ttl]: [string, typeof answer, number]) =>
              answers.keep({ ...NO_ANSWER, key: text }, kept, ttl),
          ),
        clear() {
          generation++;
          return wire.ask(null, () => {});
        },
      };
    },
    sessions: (options) => lateSessions(wire, options),
    tasks(options) {
      const tasks = createMemoryTasks(options);
      return {
        remember: (key, origin) =>
          wire.ask([keyText(key), origin], ([text, kept]: [string, TaskOrigin]) => tasks.remember(taskKey(text), kept)),
        find: (key) => wire.ask(keyText(key), (text: string) => tasks.find(taskKey(text))),
      };
    },
    inputs(now, maxInputs) {
      const inputs = createMemoryInputs(now, maxInputs);
      return {
        isEmpty: () => false, // who knows
        remember: (key, input) =>
          wire.ask([keyText(key), input], ([text, kept]: [string, OpenInput]) => inputs.remember(inputKey(text), kept)),
        find: (key) => wire.ask(keyText(key), (text: string) => inputs.find(inputKey(text))),
        spend: (key, hash) =>
          wire.ask([keyText(key), hash()], ([text, wanted]: [string, string]) =>
            inputs.spend(inputKey(text), () => wanted),
          ),
      };
    },
  };
}

const NO_ANSWER: AnswerKey = {
  of: "answer",
  scope: "shared",
  audience: null,
  server: "",
  rule: "",
  era: "",
  method: "",
  subject: null,
  key: "",
};

function taskKey(taskId: string): TaskKey {
  return { of: "task", side: "up", scope: "", taskId };
}

function inputKey(state: string): InputKey {
  return { of: "input", scope: "", state };
}

function limitKey(text: string): LimitKey {
  const [of, owner, id, watching, nth, key] = JSON.parse(text) as [
    StoreKey["of"],
    LimitKey["owner"],
    string,
    boolean,
    number,
    string,
  ];
  if (of !== "limit") throw new Error("not the key of a limit");
  return { of, owner, id, watching, nth, key };
}

/** Each session is a text; it is loaded as a whole, and changes are added to it where it is. */
function lateSessions(wire: Wire, options: MemorySessionsOptions): Sessions {
  const { maxSessions, ttlMs, now } = options;
  const sessions = new Map<string, { text: string; usedAt: number }>();

  function use(key: string): { text: string; usedAt: number } {
    const known = sessions.get(key);
    const isFresh = known !== undefined && known.usedAt + ttlMs > now();
    const entry = isFresh ? known : { text: encode(createSessionData(now())), usedAt: 0 };
    entry.usedAt = now();
    sessions.delete(key);
    sessions.set(key, entry);
    for (const oldest of sessions.keys()) {
      if (sessions.size <= maxSessions) break;
      sessions.delete(oldest);
    }
    return entry;
  }

  function write([key, changes]: [string, SessionChange[]]): void {
    const entry = use(key);
    const data = decode(entry.text) as SessionData;
    for (const change of changes) applyChange(data, change, options, now());
    entry.text = encode(data);
  }

  return createSharedSessions(
    {
      fetch: (scope) =>
        wire.ask(keyText({ of: "session", scope }), (key: string) => decode(use(key).text) as SessionData),
      add: (scope, changes) => wire.ask([keyText({ of: "session", scope }), changes], write),
    },
    options,
  );
}

/** Everything that rules remember, at the other end of a wire. */
export function createLateState(wire: Wire, now: () => number): ChainState {
  const parts = lateParts(wire);
  return {
    limits: parts.limits({ maxKeys: 100_000, reservedKeys: 1000, maxMoments: 1_000_000, now }),
    answers: parts.answers({ now }),
    sessions: parts.sessions({ maxSessions: 10_000, ttlMs: 3_600_000, maxNames: 256, maxStateCharacters: 65_536, now }),
    tasks: parts.tasks({ maxTasks: 10_000, maxBytes: 16 * 1024 * 1024, ttlMs: 3_600_000, now }),
    inputs: parts.inputs(now, 10_000),
  };
}

/** Text for what is sent, with what JSON has no word for: maps, bytes, large numbers and undefined. */
function encode(value: unknown): string {
  return JSON.stringify({ value: tag(value) });
}

function decode(text: string): unknown {
  return untag((JSON.parse(text) as { value: Json }).value);
}

function tag(value: unknown): unknown {
  if (value === undefined) return { $: "undefined" };
  if (typeof value === "bigint") return { $: "bigint", of: String(value) };
  if (Buffer.isBuffer(value)) return { $: "bytes", of: value.toString("base64") };
  if (value instanceof Map) return { $: "map", of: Array.from(value, (entry) => tag(entry)) };
  if (Array.isArray(value)) return value.map(tag);
  if (typeof value === "object" && value !== null)
    return { $: "object", of: Object.entries(value).map(([name, one]) => [name, tag(one)]) };
  return value;
}

function untag(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untag);
  if (typeof value !== "object" || value === null) return value;
  const { $: kind, of } = value as { readonly $: string; readonly of: unknown };
  switch (kind) {
    case "undefined":
      return undefined;
    case "bigint":
      return BigInt(of as string);
    case "bytes":
      return Buffer.from(of as string, "base64");
    case "map":
      return new Map((of as unknown[]).map((entry) => untag(entry) as [unknown, unknown]));
    default:
      return Object.fromEntries((of as [string, unknown][]).map(([name, one]) => [name, untag(one)]));
  }
}
