// npm run bench: builds what is needed, bundles the harness and runs it. docs/benchmarks.md says how to read what it
// prints.
//   node bench/run.mjs [options]         the measurements of real processes
//   node bench/run.mjs http [options]    the same with HTTP on one side or both
//   node bench/run.mjs micro [options]   the same work inside one process, many times over
//   node bench/run.mjs rules [options]   what rules cost, inside one process
//   node bench/run.mjs cold [options]    and one message at a time with cold caches
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build as buildProject, command, install, root } from "../scripts/setup.mjs";

const args = process.argv.slice(2);
const inside = ["micro", "cold", "rules"].find((name) => name === args[0]);
const brings = args.some((arg) => arg === "--command" || arg.startsWith("--command=") || arg === "--help");
install();
if ((inside === undefined || inside === "rules") && !brings) buildProject();
const reads = args.some((arg) => arg === "--from" || arg.startsWith("--from=") || arg === "--help");
if (args[0] === "http" && !reads) install(join(root, "bench", "peers"));

const { build } = await import("esbuild");
const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Bundled like the command: separate modules are slower to start and slower to run.
const outfile = join(folder, `${inside ?? "main"}.cjs`);
await build({
  entryPoints: [join(root, "bench", `${inside ?? "main"}.ts`)],
  outfile,
  bundle: true,
  platform: "node",
  target: "node20.19",
  format: "cjs",
  logLevel: "warning",
});
const { main } = await import(pathToFileURL(outfile).href);
try {
  process.exitCode = await main({ args: inside === undefined ? args : args.slice(1), root, command, folder });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
}
// Ends everything that was started, whatever went wrong.
process.exit();
