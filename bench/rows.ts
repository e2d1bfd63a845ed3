import { SIZES } from "./measures/bytes.ts";
import { addedOver, beyond, ITSELF, least, most, over, type Row } from "./row.ts";

const LATENCY = { measure: "latency", unit: "µs" } as const;
const SINGLE = { measure: "pipelined", quantity: "single", unit: "calls/s", title: "calls, 100 ahead" } as const;
const JOINED = { ...SINGLE, quantity: "joined", title: "calls, 100 ahead, joined writes" } as const;
const FLOOD = { measure: "flood", quantity: "time", unit: "ms", title: "300,000 notifications one way" } as const;
const LARGE = { measure: "large", unit: "ms", subject: "fairlead", compare: over("parse") } as const;
const START = { measure: "start", quantity: "time", unit: "ms", title: "start to first tools/list" } as const;
const MEMORY = { measure: "memory", quantity: "private", unit: "MB", title: "private memory, 10,000 calls" } as const;
const REFUSED = { measure: "refused", unit: "ms", subject: "filter" } as const;
const BYTES = { measure: "bytes", unit: "ns/B", subject: "fairlead" } as const;

/** Processor time of the processes in between, without waiting. Comparable within one run only. */
const WORK = { title: "… processor time", subject: "fairlead", compare: over("parse"), target: null } as const;

const P50 = "call, p50";
const AS_PARSE = most(1, "added ≤ 1 × parse relay's");
const AS_PIPE = least(0.9, "≥ 0.9 × pipe()");
const LARGE_LIMIT = most(1.1, "≤ 1.1 × parse relay");

/** The rows of the table. */
export const ROWS: readonly Row[] = [
  { ...LATENCY, quantity: "p50", title: P50, subject: "fairlead", compare: addedOver("parse"), target: AS_PARSE },
  { ...LATENCY, quantity: "p50", title: `${P50}; aim`, subject: "fairlead", compare: addedOver("pipe"), target: null },
  { ...LATENCY, quantity: "p50", title: P50, subject: "filter", compare: addedOver("parse"), target: AS_PARSE },
  { ...LATENCY, quantity: "p99", title: "call, p99", subject: "fairlead", compare: addedOver("parse"), target: null },
  {
    ...LATENCY,
    quantity: "cold",
    title: "first 100 calls, p50",
    subject: "fairlead",
    compare: addedOver("parse"),
    target: null,
  },
  { ...LATENCY, ...WORK, quantity: "processor" },
  { ...SINGLE, subject: "fairlead", compare: over("pipe"), target: AS_PIPE },
  { ...SINGLE, subject: "filter", compare: over("pipe"), target: AS_PIPE },
  { ...JOINED, subject: "fairlead", compare: over("pipe"), target: AS_PIPE },
  { ...JOINED, subject: "filter", compare: over("pipe"), target: AS_PIPE },
  { ...JOINED, ...WORK, quantity: "joined processor", unit: "µs" },
  { ...FLOOD, subject: "fairlead", compare: over("pipe"), target: most(3, "≤ 3 × pipe()") },
  { ...FLOOD, subject: "filter", compare: over("pipe"), target: most(3, "≤ 3 × pipe()") },
  { ...FLOOD, ...WORK, quantity: "processor" },
  { ...LARGE, quantity: "string", title: "8 MB answer, one string", target: LARGE_LIMIT },
  { ...LARGE, quantity: "escaped", title: "8 MB answer, escaped text", target: LARGE_LIMIT },
  { ...LARGE, quantity: "rows", title: "8 MB answer, rows", target: LARGE_LIMIT },
  { ...LARGE, quantity: "unicode", title: "8 MB answer, not ASCII", target: null },
  ...SIZES.slice(1).map(({ name }) => byteRow(name)),
  {
    ...BYTES,
    quantity: "10 MB",
    unit: "×",
    title: "a byte of 10 MB over one of 100 kB",
    compare: { kind: "growth", from: "100 kB" },
    target: most(1.5, "flat: ≤ 1.5 ×"),
  },
  { ...START, subject: "fairlead", compare: beyond("pipe"), target: most(50, "≤ pipe() + 50 ms") },
  { ...START, subject: "filter", compare: beyond("pipe"), target: most(50, "≤ pipe() + 50 ms") },
  { ...MEMORY, subject: "fairlead", compare: beyond("pipe"), target: most(10, "≤ pipe() + 10 MB") },
  { ...MEMORY, subject: "filter", compare: beyond("pipe"), target: most(10, "≤ pipe() + 10 MB") },
  { ...REFUSED, quantity: "denied p50", title: "denied call, p50", compare: ITSELF, target: most(1, "< 1 ms") },
  { ...REFUSED, quantity: "denied p50", title: "… added", compare: beyond("direct"), target: null },
  { ...REFUSED, quantity: "denied p99", title: "denied call, p99", compare: ITSELF, target: most(1, "< 1 ms") },
  { ...REFUSED, quantity: "list p50", title: "cached list, p50", compare: ITSELF, target: most(1, "< 1 ms") },
  { ...REFUSED, quantity: "list p50", title: "… added", compare: beyond("direct"), target: null },
  { ...REFUSED, quantity: "list p99", title: "cached list, p99", compare: ITSELF, target: most(1, "< 1 ms") },
];

/** As a difference: the ratio of two small differences, as at 1 kB, would mean nothing. */
function byteRow(quantity: string): Row {
  return { ...BYTES, quantity, title: `each byte of a ${quantity} answer`, compare: beyond("parse"), target: null };
}
