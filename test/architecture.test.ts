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
  store: ["message"],
  policy: ["errors", "text", "message", "session"],
  action: ["message", "session", "policy"],
  rules: ["text", "message", "session", "store", "policy", "action"],
  record: ["errors", "message", "session", "store", "policy", "action"],
  config: ["errors", "text", "message", "policy", "rules", "record"],
  relay: ["wire", "message", "session", "policy", "action", "rules", "record"],
  // The message room for the names of the protocol only.
  link: ["errors", "wire", "message"],
  // The record room for its lock.
  login: ["errors", "link", "record"],
  bridge: ["errors", "wire", "message", "session", "policy", "action", "record", "relay", "link"],
  proxy: [
    "errors",
    "wire",
    "message",
    "session",
    "store",
    "policy",
    "action",
    "rules",
    "record",
    "config",
    "relay",
    "link",
    "login",
    "bridge",
  ],
  cli: ["errors", "text", "message", "policy", "rules", "record", "config", "proxy"],
  index: ["errors", "policy", "rules", "record", "config", "proxy"],
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

test("links know the names of the protocol, and nothing else of messages", () => {
  const known = files
    .filter((file) => room(file) === "link")
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/message\/[\w-]+\.ts/g)].map(([path]) => path));
  expect(new Set(known)).toEqual(new Set(["message/protocol.ts"]));
});

test("every permit is used", () => {
  const used = new Set(
    files.flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(
        ([, path]) => `${room(file)} → ${room(resolve(file, "..", path))}`,
      ),
    ),
  );
  const permits = Object.entries(MAY_IMPORT).flatMap(([own, others]) => others.map((other) => `${own} → ${other}`));
  expect(permits.filter((permit) => !used.has(permit))).toEqual([]);
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

test("no file imports itself by way of others, types included", () => {
  const imports = new Map(
    files.map((file) => [
      file,
      [...readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, path]) =>
        resolve(file, "..", path),
      ),
    ]),
  );
  expect([...imports.values()].flat().filter((file) => !imports.has(file))).toEqual([]);
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file);
    if (start >= 0) {
      cycles.push([...way.slice(start), file].map((each) => relative(source, each)).join(" → "));
      return;
    }
    if (done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});
