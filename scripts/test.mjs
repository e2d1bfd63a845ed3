// npm test: installs and builds what is needed, checks the sources, and runs every test.
// With --quick it leaves out what needs other people's programs. With --full every proof is made at full length, which
// takes longer than a check of every change should. Further words go to vitest.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build, install, root, runTool, say, tool } from "./setup.mjs";

const args = process.argv.slice(2);
const quick = args.includes("--quick");
const full = args.includes("--full");
const rest = args.filter((arg) => arg !== "--quick" && arg !== "--full");
const started = Date.now();

install();
if (!quick && existsSync(join(root, "test", "peers", "package.json"))) install(join(root, "test", "peers"));
build();
if (rest.length === 0) {
  check("format", "oxfmt", ["--check", "."]);
  check("lint", "oxlint", ["--type-aware", "--deny-warnings"]);
  check("types", "tsc", ["-p", "."]);
  check("unused code", "knip", []);
  check("package", "publint", ["--strict"]);
}
// The suites of the protocol, direct and through the command: whoever is in the middle must not change a verdict.
const conforms = !quick && rest.length === 0 ? runConformance() : 0;
const projects = quick ? ["--project", "unit"] : [];
const { status } = spawnSync(process.execPath, [tool("vitest"), "run", ...projects, ...rest], {
  cwd: root,
  stdio: "inherit",
  env: full ? { ...process.env, FAIRLEAD_TESTS: "full" } : process.env,
});
say(`${status === 0 && conforms === 0 ? "Passed" : "Failed"} after ${Math.round((Date.now() - started) / 1000)} s.`);
process.exit(status === 0 ? conforms : (status ?? 1));

function runConformance() {
  say("Running the conformance suites …");
  const run = spawnSync(process.execPath, [join("test", "conformance", "run.mjs")], { cwd: root, stdio: "inherit" });
  return run.status ?? 1;
}

function check(what, program, words) {
  say(`Checking ${what} …`);
  runTool(program, ...words);
}
