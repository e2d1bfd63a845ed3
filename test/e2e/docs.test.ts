import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { isShown, readBlocks, readScenes, root } from "../support/docs.ts";

const blocks = readBlocks();
const bin = mkdtempSync(join(tmpdir(), "fairlead-bin-"));
const home = mkdtempSync(join(tmpdir(), "fairlead-home-"));

function shim(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

beforeAll(() => {
  const command = join(root, "dist/command/fairlead.cjs");
  shim("fairlead", `exec "${process.execPath}" "${command}" "$@"`);
  // npx as a reader would have it, but without fetching: real servers from the peers, the demo's for "some-server".
  shim(
    "npx",
    `[ "$1" = -y ] && shift
case "$1" in
  some-server) exec "${process.execPath}" "${command}" demo-server ;;
  @modelcontextprotocol/*) name="mcp-\${1#@modelcontextprotocol/}"; shift; exec "${process.execPath}" "${join(root, "test/peers/node_modules/.bin")}/$name" "$@" ;;
esac
echo "no such package here: $1" >&2; exit 1`,
  );
});

function run(command: string): { output: string; status: number | null } {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}`, HOME: home, XDG_STATE_HOME: "" };
  const cwd = command.startsWith("npm ") ? root : home;
  const { stdout, status } = spawnSync("sh", ["-c", `exec 2>&1; ${command}`], {
    cwd,
    env,
    encoding: "utf8",
    input: "",
  });
  return { output: stdout, status };
}

describe("what the pages show is what happens", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "console") continue;
    test(`${page}:${line}`, () => {
      for (const { command, output } of readScenes(text)) {
        const real = run(command).output;
        expect(isShown(output, real), `$ ${command}\n${real}`).toBe(true);
      }
    });
  }
});

describe("commands on the pages run", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "sh") continue;
    test(`${page}:${line}`, () => {
      mkdirSync("/tmp/fairlead-docs", { recursive: true });
      for (const command of text.split("\n").filter((each) => each.startsWith("fairlead "))) {
        const { output, status } = run(command.replace("/srv/data", home));
        expect({ command, output, status }).toMatchObject({ status: 0 });
      }
    });
  }
});

describe("programs on the pages run", () => {
  for (const { page, line, language, text } of blocks) {
    if (language !== "js") continue;
    test(`${page}:${line}`, () => {
      const folder = join(root, ".cache/docs");
      mkdirSync(folder, { recursive: true });
      const file = join(folder, `${page.replaceAll(/\W/g, "-")}-${line}.mjs`);
      writeFileSync(file, text);
      const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
      execFileSync(process.execPath, [file], { env, input: "", timeout: 30_000 });
    });
  }
});

test("JSON on the pages is JSON", () => {
  for (const { language, text } of blocks) {
    if (language === "json") expect(() => JSON.parse(text) as unknown).not.toThrow();
  }
});

test("the comparison notices a difference", () => {
  expect(isShown("a\n…\nc\n", "a\nb\nb\nc\n")).toBe(true);
  expect(isShown("a\n…\nc\n", "a\nb\nd\n")).toBe(false);
  expect(isShown("a 1\n", "a 2\n")).toBe(false);
});
