import fc from "fast-check";
import { isFull } from "./runs.ts";

// The same values every time, as for everything that `npm test` tries: see test/fuzz/random.ts.
if (!isFull) fc.configureGlobal({ seed: 1 });
