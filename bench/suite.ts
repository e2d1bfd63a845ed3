import type { Measure } from "./measure.ts";
import type { Place } from "./peer.ts";
import type { Row } from "./row.ts";
import type { Wording } from "./table.ts";

/** Everything about one table: its measures and its wording. */
export interface Suite<Stage> {
  /** The command line that runs it. */
  readonly command: string;
  /** A description for the help text. */
  readonly about: string;
  readonly measures: readonly Measure<Stage>[];
  readonly rows: readonly Row[];
  readonly wording: Wording;
  /** The name of its markers in docs/benchmarks.md. */
  readonly marker: string;
  /** Prepares a run, once for all rounds. */
  prepare(ground: Ground): Promise<Scene<Stage>>;
}

/** What all measures of a run share. */
export interface Scene<Stage> {
  /** Makes the stage for one round of a measure with these variants. */
  set(variants: readonly string[], random: () => number): Stage;
  /** What a reader of the table should know about this run. */
  readonly remarks: readonly string[];
}

/** The folders and builds of a run. */
export interface Ground {
  /** The folder of the project, and one for temporary files. */
  readonly root: string;
  readonly folder: string;
  readonly place: Place;
  /** The built command, and another build to compare with. */
  readonly fairlead: string;
  readonly other: string | null;
  /** Whether the servers parse every message, as most do. */
  readonly parsing: boolean;
}
