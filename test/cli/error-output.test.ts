import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-errors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /gm;

async function stderrOf(...args: string[]): Promise<string> {
  let written = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text, ...rest: unknown[]) => {
    written += String(text);
    (rest.find((each) => typeof each === "function") as (() => void) | undefined)?.();
    return true;
  });
  expect(await main(args)).toBe(1);
  return written;
}

describe("an error at the start", () => {
  test("is two lines on stderr, to the byte", async () => {
    expect(await stderrOf("--deny", "^[a-z", "--", "server")).toBe(
      'Error: Invalid regex pattern in deny list: "^[a-z"\nPattern must be valid JavaScript regex\n',
    );
  });

  test.each([["--log-format", "json"], ["--log-format=json"]])("is a JSON line with %s %s", async (...format) => {
    const line = await stderrOf(...format, "--deny", "(a+)+", "--", "server");
    expect(line).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(line)).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      level: "error",
      message: 'Unsafe regex pattern detected: "(a+)+"',
      remedy: "Pattern could cause catastrophic backtracking",
      code: "UNSAFE_PATTERN",
    });
  });

  test("is a JSON line also where the command line itself cannot be read", async () => {
    const line = await stderrOf("--dney", "x", "--log-format", "json", "--", "server", "--log-format", "text");
    expect(JSON.parse(line)).toMatchObject({ message: "Unknown option: --dney", code: "BAD_USAGE" });
  });

  test("is text where the words belong to the server, or to a command without a log", async () => {
    expect(await stderrOf("--dney", "--", "server", "--log-format", "json")).toMatch(/^Error: /);
    expect(await stderrOf("explain", "--log-format", "json")).toMatch(/^Error: /);
  });

  test("is in the log file as well, each line with its time", async () => {
    const file = join(folder, "text.log");
    const said = await stderrOf("--log-file", file, "--deny", "^[a-z", "--", "server");
    expect(said).toMatch(/^Error: Invalid/);
    expect(readFileSync(file, "utf8").replaceAll(TIME, "@ ")).toBe(
      '@ error Invalid regex pattern in deny list: "^[a-z" code="BAD_PATTERN"\n' +
        "@ error Pattern must be valid JavaScript regex\n",
    );
  });

  test("is in the log file as the same JSON line", async () => {
    const file = join(folder, "json.log");
    const line = await stderrOf("--log-file", file, "--log-format=json", "--deny", "^[a-z", "--", "server");
    expect(readFileSync(file, "utf8")).toBe(line);
  });

  test("names a log file that cannot be written on stderr alone", async () => {
    expect(await stderrOf("--log-file", join(folder, "no/such"), "--", "server")).toMatch(/^Error: Cannot write to /);
  });

  test("has a red word on a terminal, and the rest as it is", async () => {
    vi.stubEnv("FORCE_COLOR", "1");
    expect(await stderrOf("--deny", "^[a-z", "--", "server")).toBe(
      '\u001B[31mError:\u001B[0m Invalid regex pattern in deny list: "^[a-z"\nPattern must be valid JavaScript regex\n',
    );
  });
});
