import { readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { describe, expect, test } from "vitest";

interface Lockfile {
  readonly packages: Readonly<Record<string, Entry | undefined>>;
}

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const root = resolve(import.meta.dirname, "..");
const FOLDERS = [".", "test/peers", "test/conformance", "bench/peers"];

describe.each(FOLDERS)("the lockfile in %s", (folder) => {
  const { packages } = JSON.parse(readFileSync(join(root, folder, "package-lock.json"), "utf8")) as Lockfile;

  // `npm ci` refuses a lockfile that lacks an optional package, also one for another platform.
  test("has every package that another one wants on some platform", () => {
    const missing = Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys(entry?.optionalDependencies ?? {})
        .filter((name) => !isThere(packages, path, name))
        .map((name) => `${path} wants ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test("has a checksum for every package", () => {
    const bare = Object.entries(packages).filter(([path, entry]) => path !== "" && entry?.integrity === undefined);
    expect(bare.map(([path]) => path)).toEqual([]);
  });
});

test("every tool with a binary has one for Linux, macOS and Windows in the lockfile", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lockfile;
  for (const tool of ["esbuild", "oxfmt", "oxlint", "oxlint-tsgolint", "rolldown", "typescript", "oxc-parser"]) {
    const names = Object.keys(packages[`node_modules/${tool}`]?.optionalDependencies ?? {});
    const platforms = names.map((name) => packages[`node_modules/${name}`]);
    for (const [os, cpu] of [
      ["linux", "x64"],
      ["linux", "arm64"],
      ["darwin", "arm64"],
      ["win32", "x64"],
    ]) {
      const found = platforms.some((each) => each?.os?.includes(os) === true && each.cpu?.includes(cpu) === true);
      expect(found, `${tool} on ${os} ${cpu}`).toBe(true);
    }
  }
});

/** Looks for a package as Node does: beside the one that wants it, then further out. */
function isThere(packages: Lockfile["packages"], from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    if (packages[posix.join(folder, "node_modules", name)] !== undefined) return true;
    if (folder === "") return false;
  }
}
