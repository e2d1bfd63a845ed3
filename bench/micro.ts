import { parseArgs } from "node:util";
import { type Direction, openMessage, type Payload, whole } from "../src/message/message.ts";
import { scan } from "../src/message/scan.ts";
import { composeCases } from "./micro-cases.ts";
import { createPath } from "./path.ts";
import { createRandom, estimate, median, shuffled } from "./statistics.ts";
import { composeText } from "./table.ts";

/** Processes a message; for a response, its request first. */
type Work = () => void;

/** Measures the cost of each step per message, compared with JSON.parse of the same bytes. */
export async function main({ args }: { readonly args: readonly string[] }): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: "string", default: "15" }, only: { type: "string", default: "" } },
  });
  const works = composeWorks().filter(({ name }) => name.includes(values.only));
  const times = works.map(({ steps }) => steps.map(() => [] as number[]));
  const random = createRandom(1);
  const turns = works.flatMap(({ steps }, nth) => steps.map(({ work }, step) => ({ nth, step, work })));
  for (const { work } of turns) time(work); // compile everything before measuring
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { nth, step, work } of shuffled(turns, random)) times[nth][step].push(time(work));
  }
  const heading = ["message", "bytes", ...STEPS.flatMap((step) => (step === "parse" ? [step] : [step, "÷ parse"]))];
  const lines = works.map(({ name, bytes, steps }, nth) => {
    const cells = STEPS.flatMap((step): string[] => {
      const at = steps.findIndex((other) => other.step === step);
      const parse = times[nth][0];
      if (at < 0) return ["", ""];
      const shown = `${median(times[nth][at]).toFixed(0)} ns`;
      if (step === "parse") return [shown];
      const ratio = estimate(times[nth][at].map((value, round) => value / parse[round]));
      return [shown, `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)})`];
    });
    return [name, String(bytes)].concat(cells);
  });
  process.stdout.write(`${composeText([heading, ...lines])}\n`);
  return 0;
}

const STEPS = ["parse", "scan", "open", "pass", "filter", "pump"] as const;
type Step = (typeof STEPS)[number];

/** Nanoseconds for one call of `work`. It is repeated until the resolution of the clock does not matter. */
function time(work: Work): number {
  let count = 1;
  for (;;) {
    const began = performance.now();
    for (let nth = 0; nth < count; nth++) work();
    const taken = performance.now() - began;
    if (taken >= LEAST_MS) return (taken * 1e6) / count;
    count = Math.ceil(count * Math.min(100, Math.max(2, (1.2 * LEAST_MS) / Math.max(taken, 0.001))));
  }
}

const LEAST_MS = 15;

function composeWorks(): { name: string; bytes: number; steps: { step: Step; work: Work }[] }[] {
  const open = createPath(false);
  const filtering = createPath(true);
  return composeCases().map(({ name, request, message, direction }) => {
    const payload = whole(message);
    const asked = request === null ? null : whole(request);
    const both =
      (take: (part: Payload, direction: Direction) => void): Work =>
      () => {
        if (asked !== null) take(asked, "up");
        take(payload, direction);
      };
    const steps: { step: Step; work: Work }[] = [
      { step: "parse", work: both(({ bytes }) => void JSON.parse(bytes.toString("utf8"))) },
      { step: "scan", work: both((part) => void scan(part)) },
      { step: "open", work: both((part, way) => void openMessage(part, way, "refuse")) },
      { step: "pass", work: () => open.pass(asked, payload, direction) },
      { step: "filter", work: () => filtering.pass(asked, payload, direction) },
    ];
    if (request === null && direction === "up") {
      const chunk = Buffer.from(`${message.toString("latin1")}\n`.repeat(Math.floor(65_536 / (message.length + 1))));
      const count = chunk.length / (message.length + 1);
      let nth = 0;
      // One chunk contains many messages, so it is pushed once per that many calls.
      steps.push({ step: "pump", work: () => void (nth++ % count === 0 && open.push("up", chunk)) });
    }
    return { name, bytes: message.length + (request?.length ?? 0), steps };
  });
}
