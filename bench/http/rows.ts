import { addedOver, beyond, ITSELF, least, most, over, type Row } from "../row.ts";
import { COUNTS, nameCount } from "./measures/growth.ts";

const LOAD = { measure: "load", quantity: "rate", unit: "calls/s", subject: "fairlead" } as const;
const ONE = { measure: "latency", unit: "µs", subject: "fairlead" } as const;
const START = {
  measure: "start",
  quantity: "time",
  unit: "ms",
  title: "start to first tools/list",
  subject: "fairlead",
} as const;
const IDLE = { measure: "sessions", unit: "kB", subject: "fairlead" } as const;

/** Processor time of the processes in between, without waiting. Comparable within one run only. */
const WORK = {
  quantity: "processor",
  unit: "µs",
  title: "… processor time",
  compare: over("bare"),
  target: null,
} as const;

const BRIDGE = least(0.8, "≥ 0.8 × bare Node");
const OTHERS = least(5, "≥ 5 ×");

/** The rows of the table. */
export const ROWS: readonly Row[] = [
  { ...LOAD, title: "HTTP→HTTP, 32 connections", compare: over("bare"), target: least(1.2, "≥ 1.2 × bare Node") },
  { ...LOAD, title: "… over direct", compare: over("direct"), target: null },
  { ...LOAD, title: "… over nginx", compare: over("nginx"), target: null },
  { ...LOAD, title: "… over mcp-proxy", compare: over("mcp-proxy"), target: least(4, "≥ 4 ×") },
  { ...LOAD, ...WORK },
  {
    ...ONE,
    quantity: "p50",
    title: "HTTP→HTTP, one call, p50",
    compare: addedOver("bare"),
    target: most(1.2, "added ≤ 1.2 × bare Node's"),
  },
  { ...ONE, quantity: "p50", title: "… next to mcp-proxy", compare: addedOver("mcp-proxy"), target: null },
  { ...ONE, quantity: "p99", title: "HTTP→HTTP, one call, p99", compare: addedOver("bare"), target: null },
  { ...ONE, ...WORK },
  {
    measure: "large",
    quantity: "time",
    unit: "ms",
    subject: "fairlead",
    title: "HTTP→HTTP, 1 MB answer",
    compare: over("bare"),
    target: most(1.3, "≤ 1.3 × bare Node"),
  },
  ...bridge("to-stdio", "HTTP→stdio, 32 connections", ["mcp-proxy", "supergateway"]),
  ...bridge("to-http", "stdio→HTTP, 32 calls ahead", ["mcp-remote", "supergateway"]),
  { ...START, compare: beyond("direct"), target: most(150, "≤ bare Node + 150 ms") },
  { ...START, title: "… next to the bare proxy", compare: beyond("bare"), target: null },
  { ...START, title: "… next to mcp-proxy", compare: beyond("mcp-proxy"), target: null },
  {
    measure: "memory",
    quantity: "private",
    unit: "MB",
    subject: "fairlead",
    title: "private memory, 10,000 calls",
    compare: beyond("bare"),
    target: most(10, "≤ bare Node + 10 MB"),
  },
  { ...IDLE, quantity: "idle", title: "an idle session of 1,000", compare: ITSELF, target: most(20, "≤ 20 kB") },
  { ...IDLE, quantity: "streaming", title: "… with a stream", compare: ITSELF, target: most(60, "≤ 60 kB") },
  ...COUNTS.map((count) => grown("one call, p50", count, "")),
  ...COUNTS.map((count) => grown("… processor time", count, ", processor")),
];

/** The rows of a bridge between transports. */
function bridge(measure: string, title: string, peers: readonly string[]): Row[] {
  const rate = { measure, quantity: "rate", unit: "calls/s", subject: "fairlead" } as const;
  return [
    { ...rate, title, compare: over("bare"), target: BRIDGE },
    ...peers.map((peer) => ({ ...rate, title: `… over ${peer}`, compare: over(peer), target: OTHERS })),
    { ...rate, ...WORK },
  ];
}

/** The cost of a call with this many sessions: as measured for one session, as a ratio to that for more. */
function grown(title: string, count: number, what: string): Row {
  const from = `${nameCount(COUNTS[0])}${what}`;
  const quantity = `${nameCount(count)}${what}`;
  const row = { measure: "growth", quantity, subject: "fairlead", title: `${title}, ${nameCount(count)}` } as const;
  if (quantity === from) return { ...row, unit: "µs", compare: ITSELF, target: null };
  const target = count === COUNTS.at(-1) ? most(1.25, "flat: ≤ 1.25 ×") : null;
  return { ...row, unit: "×", compare: { kind: "growth", from }, target };
}
