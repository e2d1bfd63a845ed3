import type { Random } from "../random.ts";
import { QUESTIONS } from "./messages.ts";
import { POLICY_COUNT } from "./policies.ts";

/** What speaks to what, and how both behave. */
export interface Setting {
  readonly client: "stdio" | "http" | "sse";
  readonly server: "stdio" | "http" | "sse";
  /** How requests are sent: in a session, each on its own, or both. */
  readonly era: "stateful" | "stateless" | "both";
  readonly clients: number;
  /** The policy to begin with, and how it keeps lists. */
  readonly policy: number;
  readonly cache: "startup" | "session";
  readonly refresh: "never" | "on_change";
  /** So few that a table of open calls is soon full. */
  readonly maxOpenCalls: number;
  readonly revision: string;
  readonly isPaged: boolean;
  /** Of a server of Streamable HTTP: sessions, a stream for what it says unasked, and events for everybody. */
  readonly hasSessions: boolean;
  readonly hasStream: boolean;
  readonly isLax: boolean;
  readonly onLoss: "exit" | "keep";
}

/** The plainest setting there is. */
export const PLAIN: Setting = {
  client: "stdio",
  server: "stdio",
  era: "both",
  clients: 1,
  policy: 0,
  cache: "startup",
  refresh: "never",
  maxOpenCalls: 1000,
  revision: "2025-11-25",
  isPaged: false,
  hasSessions: true,
  hasStream: false,
  isLax: false,
  onLoss: "exit",
};

/** Whether batches may be sent: where 2025-03-26 was agreed upon, in a session that remembers it. */
export function mayBatch({ revision, client, server, hasSessions }: Setting): boolean {
  return revision === "2025-03-26" && (hasSessions || client !== "http" || server !== "http");
}

/** Which id a request gets: one that was never used, or one that was, as it was or spelt otherwise. */
export interface IdChoice {
  readonly from: "fresh" | "used" | "respelt";
  readonly nth: number;
}

/** A request of a client's. Numbers choose from what there is when its turn comes. */
export interface AskStep {
  readonly do: "ask";
  readonly client: number;
  readonly question: number;
  readonly id: IdChoice;
  readonly hasProgress: boolean;
  readonly isStateless: boolean;
}

/** How a server answers. */
export interface ReplyStep {
  readonly do: "reply";
  readonly nth: number;
  /** On its own stream, or on another: -1 is its own. */
  readonly where: number;
  /** As JSON where it can be, as an event that ends the stream, or as one that does not. */
  readonly as: "json" | "event" | "open";
  /** The id as it was asked, or another spelling. */
  readonly spelling: number;
  /** A result, an error, what nobody can read, or a batch of one. */
  readonly kind: "result" | "error" | "unreadable" | "wrapped";
  readonly isLarge: boolean;
  readonly hasId: boolean;
  readonly status: number;
}

/** One step of a conversation. A step that cannot be taken when its turn comes is not taken. */
export type Step = {
  /** The next step does not wait until all has come of this one. */ readonly isQuick?: boolean;
} & StepKind;

type StepKind =
  | AskStep
  | ReplyStep
  | { readonly do: "batch"; readonly client: number; readonly asks: readonly AskStep[] }
  | { readonly do: "cancel"; readonly client: number; readonly nth: number; readonly spelling: number }
  | { readonly do: "fill"; readonly client: number; readonly count: number }
  | { readonly do: "open" | "delete" | "listen" | "forget"; readonly client: number }
  | { readonly do: "leave" | "resume" | "hold" | "respond"; readonly client: number; readonly nth: number }
  | { readonly do: "read" | "die" | "revive" | "holdOwn" | "freeOwn" | "closeGate" | "openGate" }
  | {
      readonly do: "again";
      readonly nth: number;
      readonly where: number;
      readonly spelling: number;
      readonly hasId: boolean;
    }
  | { readonly do: "replyTogether"; readonly nth: number; readonly count: number }
  | { readonly do: "begin" | "end" | "break"; readonly nth: number }
  | {
      readonly do: "inform";
      readonly where: number;
      readonly kind: number;
      readonly isLarge: boolean;
      readonly hasId: boolean;
    }
  | { readonly do: "question"; readonly where: number; readonly kind: number }
  | { readonly do: "reload"; readonly policy: number };

/** A whole conversation. It can be written down and played again. */
export interface Plan {
  readonly setting: Setting;
  readonly steps: readonly Step[];
}

const PAIRS: readonly (readonly [Setting["client"], Setting["server"], number])[] = [
  ["stdio", "stdio", 5],
  ["stdio", "http", 4],
  ["http", "stdio", 5],
  ["http", "http", 6],
  ["sse", "stdio", 1],
  ["sse", "http", 1],
  ["sse", "sse", 1],
  ["stdio", "sse", 1],
  ["http", "sse", 1],
];

/** Makes up a conversation. The same chance, the same conversation. */
export function makePlan(random: Random): Plan {
  const setting = makeSetting(random);
  const opening: Step[] =
    setting.era === "stateless" ? [] : Array.from({ length: setting.clients }, (_, client) => ({ do: "open", client }));
  const length = 4 + random.below(random.chance(0.2) ? 60 : 24);
  const steps = Array.from({ length }, () => makeStep(random, setting));
  const lure = random.chance(0.3) ? random.pick(LURES)(random, setting) : [];
  return { setting, steps: [...opening, ...steps.toSpliced(random.below(length), 0, ...lure)] };
}

function makeSetting(random: Random): Setting {
  const [client, server] = choose(random, PAIRS);
  const isOld = client === "sse" || server === "sse";
  const era = isOld ? "stateful" : random.pick(["stateful", "stateful", "stateless", "both"] as const);
  return {
    client,
    server,
    era,
    clients: client === "stdio" ? 1 : 1 + random.below(3),
    policy: random.below(POLICY_COUNT),
    cache: random.pick(["startup", "session"] as const),
    refresh: random.pick(["never", "on_change"] as const),
    maxOpenCalls: random.pick([3, 8, 1000]),
    revision: random.pick(["2025-11-25", "2025-06-18", "2025-03-26", "2025-03-26"]),
    isPaged: random.chance(0.3),
    hasSessions: random.chance(0.85),
    hasStream: random.chance(0.8),
    isLax: random.chance(0.5),
    onLoss: random.pick(["exit", "keep"] as const),
  };
}

/**
 * Steps that lead to where answers are mixed up if anybody mixes them up: a request whose answer is filtered, and another
 * with the same id. Chance alone seldom takes so many steps in a row.
 */
const LURES: readonly ((random: Random, setting: Setting) => Step[])[] = [
  // Resumed where the first answer comes again.
  (random, setting) => {
    const [first, second] = [makeAsk(random, setting), makeAsk(random, setting)];
    const answer = {
      ...makeReply(random),
      nth: -1,
      where: -1,
      as: "event",
      spelling: 0,
      kind: "result",
      hasId: true,
    } as const;
    const again = { from: "used", nth: -1 } as const;
    return [
      { ...first, question: 1 + random.below(6), id: FRESH },
      { do: "begin", nth: -1 },
      answer,
      { ...second, client: first.client, isStateless: first.isStateless, question: 0, id: again },
      answer,
      { do: "resume", client: first.client, nth: -3 },
    ];
  },
  // Cancelled, and answered late: among others, and after the id was used again.
  (random, setting) => {
    const first = { ...makeAsk(random, setting), question: 1 + random.below(6), id: FRESH };
    const ping = { ...first, question: 0 };
    const pings = Array.from({ length: random.below(5) }, () => ping);
    const nth = (): number => -1 - random.below(pings.length + 3);
    return [
      first,
      { do: "cancel", client: first.client, nth: -1, spelling: 0 },
      ...pings,
      { ...ping, id: { from: "used", nth: -1 - pings.length } },
      ...Array.from({ length: 3 }, () => ({ ...makeReply(random), nth: nth(), spelling: 0 })),
    ];
  },
];

const FRESH: IdChoice = { from: "fresh", nth: 0 };

type Make = (random: Random, setting: Setting) => Step;

const anyClient = (random: Random, { clients }: Setting): number => random.below(clients);
const nth = (random: Random): number => random.below(16);

const MAKERS: readonly (readonly [Make, number])[] = [
  [makeAsk, 30],
  [makeReply, 26],
  [
    (random, setting) => ({
      do: "cancel",
      client: anyClient(random, setting),
      nth: nth(random),
      spelling: random.chance(0.2) ? 1 : 0,
    }),
    7,
  ],
  [(random, setting) => ({ do: "resume", client: anyClient(random, setting), nth: random.below(64) }), 6],
  [
    (random) => ({
      do: "again",
      nth: nth(random),
      where: random.below(6) - 1,
      spelling: random.chance(0.2) ? 1 + random.below(4) : 0,
      hasId: random.chance(0.5),
    }),
    6,
  ],
  [
    (random, setting) => ({
      do: "batch",
      client: anyClient(random, setting),
      asks: Array.from({ length: 1 + random.below(4) }, () => makeAsk(random, setting)),
    }),
    4,
  ],
  [(random) => ({ do: "replyTogether", nth: nth(random), count: 2 + random.below(3) }), 2],
  [(random, setting) => ({ do: "fill", client: anyClient(random, setting), count: 1 + random.below(9) }), 3],
  [
    (random, setting) => ({
      do: random.pick(["listen", "listen", "listen", "open", "delete", "forget"] as const),
      client: anyClient(random, setting),
    }),
    6,
  ],
  [
    (random, setting) => ({
      do: random.pick(["leave", "leave", "hold", "respond", "respond"] as const),
      client: anyClient(random, setting),
      nth: nth(random),
    }),
    9,
  ],
  [() => ({ do: "read" }), 2],
  [(random) => ({ do: random.pick(["holdOwn", "freeOwn", "closeGate", "openGate"] as const) }), 4],
  [(random) => ({ do: random.pick(["die", "revive", "revive"] as const) }), 0.6],
  [(random) => ({ do: random.pick(["begin", "begin", "end", "break"] as const), nth: nth(random) }), 8],
  [
    (random) => ({
      do: "inform",
      where: nth(random),
      kind: random.below(6),
      isLarge: random.chance(0.1),
      hasId: random.chance(0.5),
    }),
    6,
  ],
  [(random) => ({ do: "question", where: nth(random), kind: random.below(4) }), 4],
  [(random) => ({ do: "reload", policy: random.below(POLICY_COUNT) }), 3],
];

function makeStep(random: Random, setting: Setting): Step {
  const step = choose(random, MAKERS)[0](random, setting);
  return QUICK.has(step.do) && random.chance(0.12) ? { ...step, isQuick: true } : step;
}

/** What may be followed by something else at once. What comes of it is the same in any order. */
const QUICK = new Set<Step["do"]>([
  "ask",
  "batch",
  "cancel",
  "leave",
  "reply",
  "inform",
  "question",
  "respond",
  "listen",
]);

function makeAsk(random: Random, setting: Setting): AskStep {
  const from = random.pick(["fresh", "fresh", "fresh", "fresh", "used", "used", "respelt"] as const);
  return {
    do: "ask",
    client: anyClient(random, setting),
    question: random.chance(0.3) ? random.below(3) : random.below(QUESTIONS.length),
    id: { from, nth: nth(random) },
    hasProgress: random.chance(0.2),
    isStateless: setting.era === "stateless" || (setting.era === "both" && random.chance(0.5)),
  };
}

function makeReply(random: Random): ReplyStep {
  const isOdd = random.chance(0.25);
  return {
    do: "reply",
    nth: nth(random),
    where: isOdd && random.chance(0.4) ? random.below(8) : -1,
    as: random.pick(["json", "event", "event", "open"] as const),
    spelling: isOdd && random.chance(0.4) ? 1 + random.below(5) : 0,
    kind: isOdd && random.chance(0.5) ? random.pick(["error", "unreadable", "wrapped"] as const) : "result",
    isLarge: random.chance(0.1),
    hasId: random.chance(0.5),
    status: isOdd && random.chance(0.15) ? random.pick([400, 404, 500]) : 200,
  };
}

/** One of several, each as likely as its last member says. */
function choose<T extends readonly [...unknown[], number]>(random: Random, among: readonly T[]): T {
  const all = among.reduce((sum, one) => sum + Number(one.at(-1)), 0);
  let at = random.below(Math.round(all * 10)) / 10;
  for (const one of among) {
    at -= Number(one.at(-1));
    if (at < 0) return one;
  }
  return among[0];
}
