import { createStage, type Stage } from "./measure.ts";
import { bytes } from "./measures/bytes.ts";
import { flood } from "./measures/flood.ts";
import { large } from "./measures/large.ts";
import { latency } from "./measures/latency.ts";
import { memory } from "./measures/memory.ts";
import { pipelined } from "./measures/pipelined.ts";
import { refused } from "./measures/refused.ts";
import { start } from "./measures/start.ts";
import { ROWS } from "./rows.ts";
import type { Suite } from "./suite.ts";
import { composeCommands, type Variant, WORDING } from "./variants.ts";

/** The suite for stdio on both sides. */
export const LINES: Suite<Stage> = {
  command: "npm run bench",
  about: "Measures Fairlead next to the bare server, cat, a bare pipe() and a relay that parses.",
  measures: [latency, pipelined, flood, large, bytes, start, memory, refused],
  rows: ROWS,
  wording: WORDING,
  marker: "bench",
  async prepare(ground) {
    const commands = composeCommands(ground);
    return {
      // The measures above use only these variants.
      set: (variants, random) => createStage(variants as readonly Variant[], commands, ground.place, random),
      remarks: [],
    };
  },
};
