import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLockFile } from "../../../src/record/pins/lock-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-lock-"));
  path = join(folder, "fairlead.lock");
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const hash = (digit: string): string => `sha256:${digit.repeat(64)}`;
const pins = (...names: string[]): Map<string, string> => new Map(names.map((name) => [name, hash("a")]));

test("a tool may have several hashes, one for each era, but not none", async () => {
  const file = openLockFile(path);
  await file.update("one", () => new Map([["a", [hash("a"), hash("b")]]]));
  expect(openLockFile(path).read("one")).toEqual(new Map([["a", [hash("a"), hash("b")]]]));
  for (const pin of ["[]", `["${hash("a")}", 7]`, `["${hash("a")}", ["${hash("b")}"]]`]) {
    writeFileSync(path, `{"version":1,"servers":{"one":{"tools":{"a":${pin}}}}}`);
    expect(() => file.read("one")).toThrow("Not a lock file");
  }
});

test("its stamp changes when it does", async () => {
  const file = openLockFile(path);
  expect(file.stamp()).toBeNull();
  await file.update("one", () => pins("a"));
  const first = file.stamp();
  expect(file.stamp()).toBe(first);
  await file.update("one", () => pins("b"));
  expect(file.stamp()).not.toBe(first);
});

test("what is remembered is read again, server by server", async () => {
  const file = openLockFile(path);
  expect(file.read("one")).toBeNull();
  await file.update("one", (before) => {
    expect(before).toBeNull();
    return pins("b", "a", "__proto__", "constructor");
  });
  await file.update("two", () => pins());
  await file.update("one", (before) => new Map([...(before ?? []), ["c", hash("b")]]));
  expect(openLockFile(path).read("one")).toEqual(
    new Map([...pins("__proto__", "a", "b", "constructor"), ["c", hash("b")]]),
  );
  expect(openLockFile(path).read("two")).toEqual(new Map());
  expect(openLockFile(path).read("three")).toBeNull();
  expect(readdirSync(folder)).toEqual(["fairlead.lock"]);
});

test("it is readable for its owner only, and for people", async () => {
  await openLockFile(path).update(
    "npx server",
    () =>
      new Map([
        ["b", hash("1")],
        ["a", hash("2")],
      ]),
  );
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).toBe(`{
  "version": 1,
  "servers": {
    "npx server": {
      "tools": {
        "a": "${hash("2")}",
        "b": "${hash("1")}"
      }
    }
  }
}
`);
});

test("a link stays a link", async () => {
  mkdirSync(join(folder, "real"));
  const real = join(folder, "real", "tools.lock");
  await openLockFile(real).update("x", () => pins("a"));
  symlinkSync(real, path);
  await openLockFile(path).update("x", () => pins("b"));
  expect(openLockFile(real).read("x")).toEqual(pins("b"));
});

describe("a file that is damaged is an error, and is left as it is", () => {
  const whole = `{"version":1,"servers":{"s":{"tools":{"a":"${hash("a")}"}}}}`;
  test.each([
    "",
    "{}",
    "[]",
    "null",
    whole.slice(0, -1),
    whole.replace('"version":1', '"version":2'),
    whole.replace('"version":1,', ""),
    whole.replace("sha256", "md5"),
    whole.replace(hash("a"), ""),
    whole.replace(`"${hash("a")}"`, "7"),
    whole.replace('{"tools":', '{"tool":'),
    whole.replace('"servers":{', '"servers":[{').replace("}}}}", "}}}]}"),
    `<<<<<<< HEAD\n${whole}`,
    `${whole}${whole}`,
    whole.replace('"a":', `"a":"${hash("b")}","a":`),
    whole.replace('{"s":', '{"s":{"tools":{}},"s":'),
    `\ufeff${whole}`,
  ])("%s", async (text) => {
    writeFileSync(path, text);
    const damaged = expect.objectContaining({ code: "BAD_LOCK_FILE", message: `Not a lock file: ${path}` });
    expect(() => openLockFile(path).read("s")).toThrow(damaged);
    await expect(openLockFile(path).update("s", () => pins("new"))).rejects.toThrow(damaged);
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(readdirSync(folder)).toEqual(["fairlead.lock"]);
  });

  test("a folder in its place, and one that may not be read", async () => {
    mkdirSync(path);
    expect(() => openLockFile(path).read("s")).toThrow(expect.objectContaining({ code: "BAD_LOCK_FILE" }));
    if (process.getuid?.() === 0) return;
    const other = join(folder, "other");
    writeFileSync(other, whole);
    chmodSync(other, 0);
    expect(() => openLockFile(other).read("s")).toThrow(expect.objectContaining({ code: "FILE_NOT_READABLE" }));
  });
});

test("where it cannot be written that is said, and nothing is left behind", async () => {
  const nowhere = join(folder, "nowhere", "fairlead.lock");
  await expect(openLockFile(nowhere).update("s", () => pins())).rejects.toMatchObject({ code: "FILE_NOT_WRITABLE" });
  const refusing = openLockFile(path).update("s", () => {
    throw new Error("no");
  });
  await expect(refusing).rejects.toThrow("no");
  expect(readdirSync(folder)).toEqual([]);
});

test("of several writers in one process none loses what another remembered", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `tool${index}`);
  await Promise.all(
    names.map((name) => openLockFile(path).update("s", (before) => new Map([...(before ?? []), [name, hash("c")]]))),
  );
  expect([...(openLockFile(path).read("s")?.keys() ?? [])].sort()).toEqual(names.sort());
}, 20_000);

const TSX = import.meta.resolve("tsx");
const LOCK_FILE = new URL("../../../src/record/pins/lock-file.ts", import.meta.url).href;

/** A process of its own that remembers one tool after the other. */
function startWriter(server: string, count: number) {
  const code = `
    import { openLockFile } from ${JSON.stringify(LOCK_FILE)};
    const file = openLockFile(${JSON.stringify(path)});
    for (let nth = 0; nth < ${count}; nth++) {
      await file.update(${JSON.stringify(server)}, (before) => new Map([...(before ?? []), ["t" + nth, ${JSON.stringify(hash("d"))}]]));
      console.log(nth);
    }
  `;
  return spawn(process.execPath, ["--import", TSX, "--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("nor of several processes", async () => {
  const writers = ["a", "b", "c"].map((server) => startWriter(server, 15));
  const codes = await Promise.all(writers.map((writer) => new Promise((resolve) => writer.on("exit", resolve))));
  expect(codes).toEqual([0, 0, 0]);
  for (const server of ["a", "b", "c"]) expect(openLockFile(path).read(server)?.size).toBe(15);
  expect(readdirSync(folder)).toEqual(["fairlead.lock"]);
}, 60_000);

test("writers that are killed leave a whole file, and hold up nobody", async () => {
  for (let round = 0; round < 3; round++) {
    const writer = startWriter("killed", 100_000);
    await new Promise((resolve) => writer.stdout.once("data", resolve));
    await new Promise((resolve) => setTimeout(resolve, 20 + 17 * round));
    writer.kill("SIGKILL");
    await new Promise((resolve) => writer.on("exit", resolve));
    await openLockFile(path).update("s", () => pins(`round${round}`));
    expect(openLockFile(path).read("s")).toEqual(pins(`round${round}`));
    expect(openLockFile(path).read("killed")?.size).toBeGreaterThan(0);
    expect(readdirSync(folder)).toEqual(["fairlead.lock"]);
  }
}, 60_000);
