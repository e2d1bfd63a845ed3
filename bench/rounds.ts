import { cpSync, openSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { watchOthers } from "./machine.ts";
import type { Measure } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Samples } from "./result.ts";
import { createRandom, median } from "./statistics.ts";
import type { Suite } from "./suite.ts";

/** The folders of a run. */
export interface Folders {
  readonly root: string;
  /** The built command. */
  readonly command: string;
  /** A folder for temporary files. */
  readonly folder: string;
}

/** Runs all measures round by round: a busy minute then spoils one round of each measure, not all rounds of one. */
export async function runRounds<Stage>(suite: Suite<Stage>, options: Options, folders: Folders): Promise<Found> {
  const { root, command, folder } = folders;
  const measures = suite.measures.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const file = join(folder, "stderr");
  const scene = await suite.prepare({
    root,
    folder,
    place: { stderr: { file, descriptor: openSync(file, "a+") } },
    fairlead: keep(options.command ?? command, join(folder, "command")),
    other: options.other === null ? null : keep(options.other, join(folder, "other")),
    parsing: options.parsing,
  });
  const random = createRandom(options.seed);
  const samples: Samples = {};
  const shares: number[] = [];
  const began = performance.now();

  /** Measures one round. With `patient` it is repeated if it was disturbed, whatever its result. */
  async function measureOnce(measure: Measure<Stage>, variants: readonly string[]): Promise<Value[]> {
    for (let attempt = 1; ; attempt++) {
      if (options.patient) await quiet();
      const values: Value[] = [];
      const watch = watchOthers();
      await measure.round(scene.set(variants, random), (quantity, variant, value) => {
        values.push({ quantity, variant, value });
      });
      const others = watch() ?? 0;
      if (!options.patient || others < MAX_DISTURBANCE || attempt === MAX_ATTEMPTS) {
        shares.push(others);
        return values;
      }
      say(`  others took ${Math.round(others * 100)} % of the cores: again`);
    }
  }

  for (let round = 1; round <= options.rounds; round++) {
    for (const measure of measures) {
      const seconds = Math.round((performance.now() - began) / 1000);
      say(`round ${round} of ${options.rounds}, ${seconds} s: ${measure.name}`);
      const variants = options.other === null ? measure.variants : [...measure.variants, "other"];
      const quantities = (samples[measure.name] ??= {});
      for (const { quantity, variant, value } of await measureOnce(measure, variants)) {
        ((quantities[quantity] ??= {})[variant] ??= []).push(value);
      }
    }
  }
  return { samples, others: median(shares), remarks: scene.remarks };
}

/** The values, the share of the cores that other processes used in the median round, and remarks. */
interface Found {
  readonly samples: Samples;
  readonly others: number;
  readonly remarks: readonly string[];
}

/** One value of one round. */
interface Value {
  readonly quantity: string;
  readonly variant: string;
  readonly value: number;
}

/** A round in which other processes used a larger share of the cores was disturbed. */
const MAX_DISTURBANCE = 0.08;
const MAX_ATTEMPTS = 20;

/** Waits until other processes are quiet, up to a limit. */
async function quiet(): Promise<void> {
  for (let second = 0; second < MAX_WAIT_SECONDS; second++) {
    const watch = watchOthers();
    await delay(1000);
    if ((watch() ?? 0) < MAX_DISTURBANCE) return;
  }
}

const MAX_WAIT_SECONDS = 300;

/** Copies a build, so that it stays the same if somebody builds again during the run. */
function keep(command: string, folder: string): string {
  cpSync(dirname(resolve(command)), folder, { recursive: true });
  return join(folder, basename(command));
}

/** Writes progress to stderr; stdout is for the table. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
