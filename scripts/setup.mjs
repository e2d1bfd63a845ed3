// Gets a fresh clone ready: installs what is missing and builds what is out of date.
// Plain Node, because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The command, as it is built. */
export const command = join(root, "dist", "command", "fairlead.cjs");

/** Says on stderr what is going on; stdout may belong to the protocol. */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Installs what the lockfile of a folder lists, unless that has been done. */
export function install(folder = root) {
  const lock = join(folder, "package-lock.json");
  const stamp = join(folder, "node_modules", ".fairlead-installed");
  const wanted = digest([lock], process.version);
  const found = read(stamp);
  if (found === wanted) return;
  // Somebody ran `npm ci` or `npm install` here before us.
  if (found === "" && isInstalled(folder, lock)) return writeFileSync(stamp, wanted);
  const name = folder === root ? "dependencies" : `dependencies of ${folder.slice(root.length + 1)}`;
  say(`Installing ${name} …`);
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  // Install scripts of packages are not run. And an npm that started this script, say `npm install -g .` or
  // `npm publish --dry-run`, passes its own options on in the environment: these undo them.
  const own = ["--ignore-scripts", "--no-dry-run", "--no-global", "--include=dev"];
  // Peers may ask for another Node than ours: some are run with one of their own.
  const strict = folder === root ? "--engine-strict" : "--no-engine-strict";
  run(...npm("ci", ...own, strict, ...quiet), { cwd: folder });
  writeFileSync(stamp, wanted);
}

/** Whether npm's own record of what is in node_modules has every package of the lockfile that is not optional. */
function isInstalled(folder, lock) {
  const record = read(join(folder, "node_modules", ".package-lock.json"));
  if (record === "") return false;
  const { packages: there } = JSON.parse(record);
  const { packages: wanted } = JSON.parse(readFileSync(lock, "utf8"));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === "" || optional === true || there[path]?.version === version,
  );
}

/** Builds the command and the library, unless that has been done; `anew` builds them all the same. */
export function build({ anew = false } = {}) {
  const stamp = join(root, "dist", ".fairlead-built");
  const inputs = [
    ...filesIn(join(root, "src")),
    ...["package.json", "package-lock.json", "tsconfig.json"].map((name) => join(root, name)),
  ];
  inputs.push(join(root, "tsconfig.build.json"), join(root, "scripts", "build.mjs"));
  const wanted = digest(inputs, "");
  if (!anew && read(stamp) === wanted && existsSync(command)) return;
  say("Building …");
  run(process.execPath, [join(root, "scripts", "build.mjs")]);
  writeFileSync(stamp, wanted);
}

/** Checks or mends the sources with one of the tools. */
export function runTool(name, ...words) {
  run(process.execPath, [tool(name), ...words]);
}

/** Where a tool's program is: Windows cannot start what npm puts into node_modules/.bin with Node itself. */
export function tool(name) {
  return join(
    root,
    "node_modules",
    ...{
      oxfmt: ["oxfmt", "bin", "oxfmt"],
      oxlint: ["oxlint", "bin", "oxlint"],
      tsc: ["typescript", "bin", "tsc"],
      knip: ["knip", "bin", "knip.js"],
      publint: ["publint", "src", "cli.js"],
      vitest: ["vitest", "vitest.mjs"],
    }[name],
  );
}

/** Runs a program of the project to its end. A failure ends us with its exit code. */
export function run(program, args, options = {}) {
  // What programs say goes to stderr, except where a caller wants it elsewhere.
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ["inherit", 2, 2], ...options });
  if (error !== undefined) fail(`${program} could not be started: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Ends with one clear sentence. */
export function fail(sentence) {
  say(`Error: ${sentence}`);
  process.exit(1);
}

function npm(...args) {
  const script = process.env.npm_execpath;
  if (script !== undefined && script.endsWith(".js")) return [process.execPath, [script, ...args]];
  return process.platform === "win32" ? ["cmd.exe", ["/d", "/s", "/c", "npm", ...args]] : ["npm", args];
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

function digest(files, salt) {
  const hash = createHash("sha256").update(salt);
  for (const file of files) hash.update(file.slice(root.length)).update(readFileSync(file));
  return hash.digest("hex");
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
