import type { Measure } from "./measure.ts";
import type { Place } from "./peer.ts";
import type { Row } from "./row.ts";
import type { Wording } from "./table.ts";

/** Everything about one table: what is measured for it, and how it reads. */
export interface Suite<Stage> {
  /** How it is started. */
  readonly command: string;
  /** In the help: what it is about. */
  readonly about: string;
  readonly measures: readonly Measure<Stage>[];
  readonly rows: readonly Row[];
  readonly wording: Wording;
  /** The name of its markers in docs/benchmarks.md. */
  readonly marker: string;
  /** Gets ready, once for all rounds. */
  prepare(ground: Ground): Promise<Scene<Stage>>;
}

/** What all measures of a run share. */
export interface Scene<Stage> {
  /** Sets the stage for one round of a measure with these variants. */
  set(variants: readonly string[], random: () => number): Stage;
  /** What a reader of the table should know about this run. */
  readonly remarks: readonly string[];
}

/** What a run stands on. */
export interface Ground {
  /** The folder of the project, and one for what is needed during the run. */
  readonly root: string;
  readonly folder: string;
  readonly place: Place;
  /** The built command, and another build of it to compare with. */
  readonly fairlead: string;
  readonly other: string | null;
  /** Whether the servers parse every message, as most do. */
  readonly parsing: boolean;
}
