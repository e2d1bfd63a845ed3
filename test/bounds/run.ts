// npm run test:bounds: hostile loads against the built command; what each costs, and whether that is within its bounds.
//   --only <part>   those whose name has this in it
//   --short         the share of each load that npm test does
//   --write         writes docs/limits.md anew instead
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { runLoad } from "./load.ts";
import { LOADS } from "./loads.ts";
import { limitsPage } from "./page.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    short: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
if (values.write) {
  writeFileSync(resolve(import.meta.dirname, "../../docs/limits.md"), limitsPage());
  process.exit();
}
let failures = 0;
for (const load of LOADS.filter(({ name }) => name.includes(values.only))) {
  if (values.short && load.short === null) continue;
  const { scale, maxMegabytes } = (values.short ? load.short : null) ?? { scale: 1, maxMegabytes: load.maxMegabytes };
  const { megabytes, stallMs, waitMs, seconds, complaints } = await runLoad(load, scale, maxMegabytes);
  const verdict = complaints.length === 0 ? "ok  " : "FAIL";
  const figures = [`${megabytes} MB`, `stall ${stallMs} ms`, `wait ${waitMs} ms`, `${seconds.toFixed(1)} s`];
  console.log(verdict, figures.map((figure) => figure.padStart(13)).join(""), "", load.name);
  for (const complaint of complaints) console.log(`       ${complaint}`);
  failures += complaints.length;
}
process.exitCode = failures === 0 ? 0 : 1;
