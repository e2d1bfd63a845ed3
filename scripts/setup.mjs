// Prepares a fresh clone: installs what is missing and builds what is out of date.
// Plain Node, because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The path of the built command. */
export const command = join(root, "dist", "command", "fairlead.cjs");

/** Writes progress to stderr; stdout may belong to the protocol. */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Installs what the lockfile of a folder lists, unless it is installed already. */
export function install(folder = root) {
  const lock = join(folder, "package-lock.json");
  const stamp = join(folder, "node_modules", ".fairlead-installed");
  const wanted = digest([lock], process.version);
  const found = read(stamp);
  if (found === wanted) return;
  // `npm ci` or `npm install` was run here before.
  if (found === "" && isInstalled(folder, lock)) return writeFileSync(stamp, wanted);
  const name = folder === root ? "dependencies" : `dependencies of ${folder.slice(root.length + 1)}`;
  say(`Installing ${name} …`);
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  // Install scripts of packages are not run. An npm that started this script, such as `npm install -g .` or `npm
  // publish --dry-run`, passes its own options in the environment: these options undo them.
  const own = ["--ignore-scripts", "--no-dry-run", "--no-global", "--include=dev"];
  // Peers may require another version of Node: some are run with one of their own.
  const strict = folder === root ? "--engine-strict" : "--no-engine-strict";
  run(...npm("ci", ...own, strict, ...quiet), { cwd: folder });
  writeFileSync(stamp, wanted);
}

/** Whether npm's own record of node_modules contains every package of the lockfile that is not optional. */
function isInstalled(folder, lock) {
  const record = read(join(folder, "node_modules", ".package-lock.json"));
  if (record === "") return false;
  const { packages: there } = JSON.parse(record);
  const { packages: wanted } = JSON.parse(readFileSync(lock, "utf8"));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === "" || optional === true || there[path]?.version === version,
  );
}

/** Builds the command and the library if they are out of date; `anew` builds them in any case. */
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

/** Checks or fixes the sources with one of the tools. */
export function runTool(name, ...words) {
  run(process.execPath, [tool(name), ...words]);
}

/** The path of a tool's program: on Windows, Node cannot start the files in node_modules/.bin. */
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

/** Runs a program of the project to its end. If it fails, this process exits with its exit code. */
export function run(program, args, options = {}) {
  // The output of programs goes to stderr, unless a caller redirects it.
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ["inherit", 2, 2], ...options });
  if (error !== undefined) fail(`${program} could not be started: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Prints an error and exits. */
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
