// npm run test:bounds: hostile loads against the built command; what each costs, and whether that is within its bounds.
//   --only <part>   those whose name has this in it
//   --scale <n>     a share of each load, from 0 to 1
import { parseArgs } from "node:util";
import { LOADS, runLoad } from "./loads.ts";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, scale: { type: "string", default: "1" } },
});
let failures = 0;
for (const load of LOADS.filter(({ name }) => name.includes(values.only))) {
  const { megabytes, stallMs, seconds, complaints } = await runLoad(load, Number(values.scale));
  const verdict = complaints.length === 0 ? "ok  " : "FAIL";
  console.log(
    `${verdict} ${String(megabytes).padStart(5)} MB ${String(stallMs).padStart(5)} ms  ${load.name} (${seconds.toFixed(1)} s)`,
  );
  for (const complaint of complaints) console.log(`       ${complaint}`);
  failures += complaints.length;
}
process.exitCode = failures === 0 ? 0 : 1;
