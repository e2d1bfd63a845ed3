import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/docs.ts";

const npm = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" });
const [{ files }] = JSON.parse(npm.stdout) as [{ files: { path: string }[] }];
const packed = new Set(files.map(({ path }) => path));

test("the package holds what it needs and nothing of how it was built", () => {
  expect(packed).toContain("dist/command/fairlead.cjs");
  expect(packed).toContain("dist/library/index.js");
  expect(packed).toContain("dist/library/index.d.ts");
  expect(packed).toContain("schema/fairlead.schema.json");
  expect([...packed].filter((path) => /(^|\/)\./.test(path) || /^(src|test|scripts|bench)\//.test(path))).toEqual([]);
});

test("what the packed pages link to is packed with them", () => {
  for (const page of [...packed].filter((path) => path.endsWith(".md"))) {
    const text = readFileSync(join(root, page), "utf8");
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(packed, page).toContain(posix.join(posix.dirname(page), target));
    }
  }
});

test("whoever has a part in the command is named with the licence", () => {
  const folder = join(root, "dist/command");
  const notices = readFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), "utf8");
  // The bundler notes above each piece where it came from.
  const bundled = readdirSync(folder).flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(/^ *\/\/ node_modules\/((?:@[^/]+\/)?[^/\n]+)/gm)].map(
      ([, owner]) => owner,
    ),
  );
  expect(bundled).toContain("safe-regex2");
  for (const owner of new Set(bundled))
    expect(notices).toMatch(new RegExp(`^${owner} \\d\\S* \\(.+\\)\n\n.*Licen[cs]e`, "m"));
  expect(packed).toContain("dist/command/THIRD-PARTY-NOTICES.txt");
});

test("npm install -g . in a clone that was never built gives the command", () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-clone-"));
  try {
    const clone = join(folder, "clone");
    const sources = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "src", "scripts"];
    for (const name of sources) cpSync(join(root, name), join(clone, name), { recursive: true });
    // What a download would put there.
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"), "junction");
    const words = ["install", "--global", "--prefix", join(folder, "prefix"), "."];
    const installed = spawnSync("npm", words, { cwd: clone, encoding: "utf8", shell: process.platform === "win32" });
    expect(installed.status, installed.stderr).toBe(0);
    const places = ["bin/fairlead", "fairlead.cmd"].map((name) => join(folder, "prefix", name));
    const command = places.find(existsSync) ?? "";
    const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8", shell: process.platform === "win32" });
    expect(stdout).toMatch(/^fairlead \d+\.\d+\.\d+\n$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
