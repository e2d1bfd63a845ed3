import { createRandom } from "../random.ts";
import { perform } from "./perform.ts";
import { makePlan, type Plan } from "./plan.ts";
import { shrink } from "./shrink.ts";

/** How many conversations to lead, and for how long. */
export interface ConversationOptions {
  /** The first conversation is made of this seed, each further one of another that follows from it. */
  readonly seed: number;
  readonly seconds: number;
  readonly conversations: number;
  /** How long to look for a shorter conversation that goes wrong in the same way. */
  readonly shrinkSeconds: number;
  /** The only conversations to lead, by who speaks to whom. */
  readonly pair?: string;
  /** How long nothing may happen before that counts as a hang. */
  readonly limitMs?: number;
  /** What is looked for, where a bug was planted: what goes wrong in another way is passed over. */
  readonly wanted?: RegExp;
}

/** A conversation that went wrong. */
interface Found {
  /** Of this conversation alone. */
  readonly seed: number;
  readonly complaint: string;
  /** The shortest conversation that goes wrong like it. */
  readonly plan: Plan;
  readonly trace: readonly string[];
}

/** How it went. */
export interface ConversationReport {
  readonly seed: number;
  readonly conversations: number;
  readonly requests: number;
  /** Conversations by who speaks to whom in which era, and steps by what they do. */
  readonly pairs: ReadonlyMap<string, number>;
  readonly steps: ReadonlyMap<string, number>;
  readonly found: Found | null;
}

/** Leads conversations until one goes wrong, or time or number is up. */
export async function converse(options: ConversationOptions): Promise<ConversationReport> {
  const { seed, seconds, conversations, shrinkSeconds, pair, wanted, limitMs } = options;
  const until = performance.now() + seconds * 1000;
  const pairs = new Map<string, number>();
  const steps = new Map<string, number>();
  let led = 0;
  let requests = 0;
  for (let index = 0; led < conversations && performance.now() < until; index++) {
    const own = (seed + Math.imul(index, STRIDE)) >>> 0;
    const plan = makePlan(createRandom(own));
    const { client, server, era } = plan.setting;
    if (pair !== undefined && pair !== `${client}-${server}`) continue;
    const { complaint, taken, asks, trace } = await perform(plan, limitMs);
    led++;
    requests += asks;
    count(pairs, `${client} to ${server}, ${era}`, 1);
    for (const [what, times] of taken) count(steps, what, times);
    if (complaint === null || wanted?.test(complaint) === false) continue;
    const small = await shorten(plan, complaint, shrinkSeconds);
    const found = { seed: own, complaint, plan: small, trace: small === plan ? trace : (await perform(small)).trace };
    return { seed, conversations: led, requests, pairs, steps, found };
  }
  return { seed, conversations: led, requests, pairs, steps, found: null };
}

const STRIDE = 0x9e3779b1;

/** How long nothing may happen in a conversation that is known to go wrong. Shorter: most of those that hang are tried. */
const SHRINK_LIMIT_MS = 700;

async function shorten(plan: Plan, complaint: string, seconds: number): Promise<Plan> {
  const kind = kindOf(complaint);
  const isLike = async (candidate: Plan): Promise<boolean> => {
    const again = await perform(candidate, SHRINK_LIMIT_MS);
    return again.complaint !== null && kindOf(again.complaint) === kind;
  };
  return shrink(plan, isLike, seconds * 1000);
}

/** What went wrong, without the numbers and texts of this one conversation. */
function kindOf(complaint: string): string {
  return complaint.replaceAll(/\d+/g, "").split(":")[0];
}

function count(counts: Map<string, number>, what: string, by: number): void {
  counts.set(what, (counts.get(what) ?? 0) + by);
}

/** A report for people: what was led, and what went wrong with the command that leads it again. */
export function describeConversations(report: ConversationReport, milliseconds: number): string {
  const { seed, conversations, requests, pairs, steps, found } = report;
  const pace = Math.round((conversations / milliseconds) * 60_000);
  const head = `${conversations} conversations with ${requests} requests in ${(milliseconds / 1000).toFixed(1)} s (${pace} a minute), FUZZ_SEED=${seed}`;
  const lines = [head, ...list(pairs), ...list(steps)];
  if (found === null) return lines.join("\n");
  return [
    ...lines,
    `WRONG: ${found.complaint}`,
    `To see it again: npm run fuzz -- conversations --seed ${found.seed} --conversations 1`,
    JSON.stringify(found.plan.setting),
    ...found.plan.steps.map((step) => JSON.stringify(step)),
    ...found.trace,
  ].join("\n");
}

function list(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].sort(([, one], [, other]) => other - one).map(([what, times]) => `${times}\t${what}`);
}
