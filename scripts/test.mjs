// npm test: installs and builds what is needed, checks the sources, and runs every test.
// With --quick it leaves out tests that need third-party programs. With --full every test runs at full length, which
// takes too long for a check of every change. Further arguments go to vitest.
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
// The conformance suites of the protocol, directly and through the command: the proxy must not change a verdict.
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
