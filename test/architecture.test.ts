import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

// Who may know whom. A new entry is a decision about the house, not a detail of a change.
const MAY_IMPORT: Record<string, readonly string[]> = {
  errors: [],
  wire: [],
  message: [],
  text: ["message"],
  filter: ["message", "text"],
  session: ["message"],
  policy: ["errors", "text", "message", "session"],
  action: ["message", "session", "policy"],
  chain: ["message", "session", "policy", "action"],
  record: ["errors", "message", "session", "policy", "action"],
  relay: ["wire", "message", "session", "policy", "action", "chain", "record"],
  link: ["errors", "wire", "relay"],
  bridge: ["errors", "wire", "message", "session", "policy", "action", "chain", "record", "relay", "link"],
  proxy: ["errors", "wire", "message", "session", "policy", "action", "chain", "record", "relay", "link", "bridge"],
  cli: ["errors", "text", "proxy", "policy", "chain", "record", "message"],
  index: ["errors", "proxy", "policy", "chain", "session", "record", "message"],
};

const source = resolve(import.meta.dirname, "../src");

function room(file: string): string {
  const [first] = relative(source, file).split(sep);
  return first.replace(/\.ts$/, "");
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join(source, name));

test("every file lives in a room, and knows only whom its room may know", () => {
  const trespassers: string[] = [];
  for (const file of files) {
    const own = room(file);
    expect(MAY_IMPORT, relative(source, file)).toHaveProperty(own);
    for (const [, path] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const other = room(resolve(file, "..", path));
      if (other !== own && !MAY_IMPORT[own].includes(other)) trespassers.push(`${relative(source, file)} → ${other}`);
    }
  }
  expect(trespassers).toEqual([]);
});

test("imports name the file they mean, with its extension", () => {
  const vague = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g)]
      .map(([, path]) => path)
      .filter((path) => !path.endsWith(".ts"))
      .map((path) => `${relative(source, file)}: ${path}`),
  );
  expect(vague).toEqual([]);
});

test("a file is one thought", () => {
  const long = files
    .map((file) => ({ file: relative(source, file), lines: readFileSync(file, "utf8").split("\n").length }))
    .filter(({ lines }) => lines > 300);
  // The scanner is one state machine; cutting it up would cost what it exists for.
  expect(long.map(({ file }) => file)).toEqual([join("message", "scan.ts")]);
});
