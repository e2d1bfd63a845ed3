import { loadCorpus } from "./corpus.ts";
import type { Direction, Expected } from "./model.ts";
import { cut, mutate } from "./mutate.ts";
import { type Complaint, examine } from "./oracle.ts";
import { createRandom, type Random } from "./random.ts";
import { createPlaces, type Place } from "./places.ts";
import type { Plant } from "./rig.ts";

/** How long to fuzz, and what. */
export interface FuzzOptions {
  readonly seed: number;
  readonly mutants: number;
  readonly seconds: number;
  readonly plant?: Plant;
}

/** A mutant that was treated wrongly. */
interface Find {
  readonly complaint: string;
  readonly direction: Direction;
  readonly revision: string | null;
  /** The bytes, as a JSON string in latin1. */
  readonly mutant: string;
  /** Whether it goes wrong by itself, and not only after those before it. */
  readonly isAlone: boolean;
}

/** How it went. */
export interface FuzzReport {
  readonly seed: number;
  readonly mutants: number;
  /** Lines by what should become of them. */
  readonly verdicts: ReadonlyMap<string, number>;
  readonly find: Find | null;
}

/** Throws mutants at the relay until one is treated wrongly, or time or number is up. */
export async function fuzz({ seed, mutants, seconds, plant }: FuzzOptions): Promise<FuzzReport> {
  const random = createRandom(seed);
  const corpus = loadCorpus();
  let findPlace = createPlaces(plant);
  const verdicts = new Map<string, number>();
  const until = performance.now() + seconds * 1000;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // half of the mutants are no JSON, and JSON.parse throws
  let tried = 0;
  while (tried < mutants && performance.now() < until) {
    tried++;
    const direction: Direction = random.chance(0.6) ? "up" : "down";
    const revision = random.chance(0.15) ? "2025-03-26" : null;
    const mutant = mutate(random, corpus[direction]);
    const place = findPlace(direction, revision);
    const complaint = await settle({ mutant, direction, place, random, verdicts });
    if (complaint === null) continue;
    if (plant !== undefined && (await isWrongWithout(mutant, direction, revision, random))) {
      findPlace = createPlaces(plant);
      continue;
    }
    Error.stackTraceLimit = stackTraceLimit;
    const again: Trial = {
      mutant,
      direction,
      place: createPlaces(plant)(direction, revision),
      random,
      verdicts: new Map(),
    };
    const alone = await settle(again);
    const text = JSON.stringify(mutant.toString("latin1"));
    const find = { complaint: alone ?? complaint, direction, revision, mutant: text, isAlone: alone !== null };
    return { seed, mutants: tried, verdicts, find };
  }
  Error.stackTraceLimit = stackTraceLimit;
  return { seed, mutants: tried, verdicts, find: null };
}

/** Whether a mutant is treated wrongly also where nothing is planted: then it shows nothing about the plant. */
async function isWrongWithout(
  mutant: Buffer,
  direction: Direction,
  revision: string | null,
  random: Random,
): Promise<boolean> {
  const place = createPlaces(undefined)(direction, revision);
  return (await settle({ mutant, direction, place, random, verdicts: new Map() })) !== null;
}

async function settle(trial: Trial): Promise<Complaint> {
  try {
    const outcome = tryMutant(trial);
    return outcome instanceof Promise ? await outcome : outcome;
  } catch (error) {
    return `crashed: ${error instanceof Error ? error.stack : String(error)}`;
  }
}

/** A report for people. */
export function describeReport({ seed, mutants, verdicts, find }: FuzzReport, milliseconds: number): string {
  const rows = [...verdicts].sort(([, one], [, other]) => other - one).map(([what, count]) => `${count}\t${what}`);
  const pace = Math.round((mutants / milliseconds) * 60_000);
  const head = `${mutants} mutants in ${(milliseconds / 1000).toFixed(1)} s (${pace} a minute), FUZZ_SEED=${seed}`;
  return [head, ...rows, ...(find === null ? [] : [JSON.stringify(find, null, 2)])].join("\n");
}

interface Trial {
  readonly mutant: Buffer;
  readonly direction: Direction;
  readonly place: Place;
  readonly random: Random;
  readonly verdicts: Map<string, number>;
}

/** What was heard so far because of one mutant. */
interface Progress {
  readonly server: string[];
  readonly client: string[];
  waited: boolean;
}

// Written with promises only where something waits: few mutants do.
function tryMutant(trial: Trial): Complaint | Promise<Complaint> {
  const progress: Progress = { server: [], client: [], waited: false };
  const lines = splitLines(trial.mutant);
  return chain(
    lines.map((line) => () => tryLine(trial, progress, line)),
    () => chain([() => trySentinel(trial)], () => tryCuts(trial, progress, lines.length)),
  );
}

/** Brings one line whole, and holds what is heard against the model. */
function tryLine(trial: Trial, progress: Progress, line: Buffer): Complaint | Promise<Complaint> {
  const { direction, place, verdicts } = trial;
  const expected = place.model.expect(line, direction);
  count(verdicts, expected, direction);
  const said = place.whole.feed(Buffer.concat([line, NEWLINE]), direction);
  if (said instanceof Promise) progress.waited = true;
  return then(said, (heard) => {
    progress.server.push(...heard.server);
    progress.client.push(...heard.client);
    return examine(place.model, line, direction, heard, expected);
  });
}

/** Whatever the mutant was, the next good message passes. */
function trySentinel({ direction, place }: Trial): Complaint | Promise<Complaint> {
  return then(place.whole.feed(Buffer.from(`${SENTINEL}\n`), direction), ({ server, client }) => {
    const [onward, back] = direction === "up" ? [server, client] : [client, server];
    return isSame(onward, [SENTINEL]) && back.length === 0 ? null : "held back the good message after it";
  });
}

const SENTINEL = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"s","progress":1}}';

/** The same bytes in other chunks are heard as the same lines. */
function tryCuts(trial: Trial, whole: Progress, lines: number): Complaint | Promise<Complaint> {
  // Who waits lets others pass; which ones, the cut may decide.
  if (whole.waited && lines > 1) return null;
  const { mutant, direction, place, random } = trial;
  const server: string[] = [];
  const client: string[] = [];
  const chunks = cut(random, Buffer.concat([mutant, NEWLINE]));
  return chain(
    chunks.map(
      (chunk) => () =>
        then(place.pieces.feed(chunk, direction), (said) => {
          server.push(...said.server);
          client.push(...said.client);
          return null;
        }),
    ),
    () => (isSame(server, whole.server) && isSame(client, whole.client) ? null : "where it was cut made a difference"),
  );
}

const NEWLINE = Buffer.from("\n");

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, at));
    start = at + 1;
  }
  return [...lines, bytes.subarray(start)];
}

function count(verdicts: Map<string, number>, expected: Expected, direction: Direction): void {
  const what = `${direction} ${expected.do}${expected.do === "refuse" ? `: ${expected.why}` : ""}`;
  verdicts.set(what, (verdicts.get(what) ?? 0) + 1);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}

type Step = () => Complaint | Promise<Complaint>;

/** Takes steps one after the other until one complains, and then the last. */
function chain(steps: readonly Step[], last: Step, from = 0): Complaint | Promise<Complaint> {
  for (let at = from; at < steps.length; at++) {
    const complaint = steps[at]();
    if (complaint instanceof Promise) return complaint.then((late) => late ?? chain(steps, last, at + 1));
    if (complaint !== null) return complaint;
  }
  return last();
}

function then<T>(value: T | Promise<T>, go: (value: T) => Complaint): Complaint | Promise<Complaint> {
  return value instanceof Promise ? value.then(go) : go(value);
}
