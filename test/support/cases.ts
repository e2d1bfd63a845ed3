import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A request that waits while the case is played. */
export interface Pending {
  readonly id: number;
  readonly method: string;
  readonly name?: string;
}

/** One hostile or odd message, and what should become of it. The fields are described in fixtures/cases/README.md. */
export interface Case {
  readonly name: string;
  readonly direction: "c2s" | "s2c";
  readonly transport: "stdio" | "http" | "sse";
  readonly verdict: "forward" | "forward_flagged" | "modify" | "deny" | "reject" | "drop";
  readonly bytes: Buffer;
  readonly reply: { readonly code: number; readonly id: number | string | null } | null;
  readonly mustNotLeak: readonly string[];
  readonly setup: Setup | null;
  readonly expect: Readonly<Record<string, unknown>>;
  /** Of the request or response it comes in; a list where one stands more than once. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

interface Setup {
  readonly pending_c2s?: readonly Pending[];
  readonly pending?: readonly Pending[];
  readonly completed?: readonly number[];
  readonly deny?: readonly string[];
  readonly [other: string]: unknown;
}

interface RawCase extends Omit<Case, "bytes" | "mustNotLeak"> {
  readonly b64?: string;
  readonly gen?: { prefix_b64: string; fill_b64: string; repeat: number; suffix_b64: string };
  readonly must_not_leak?: readonly string[];
}

/** All cases, in the order of the file. The bytes are made when they are asked for: some are large. */
export function loadCases(): Case[] {
  const text = readFileSync(join(import.meta.dirname, "../fixtures/cases/cases.jsonl"), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const raw = JSON.parse(line) as RawCase;
      return {
        name: raw.name,
        direction: raw.direction,
        transport: raw.transport,
        verdict: raw.verdict,
        reply: raw.reply ?? null,
        mustNotLeak: raw.must_not_leak ?? [],
        setup: raw.setup ?? null,
        expect: raw.expect ?? {},
        headers: raw.headers ?? {},
        get bytes() {
          return makeBytes(raw);
        },
      };
    });
}

/** The requests that wait while a case is played. */
export function pendingOf({ setup }: Case): readonly Pending[] {
  return setup?.pending_c2s ?? setup?.pending ?? [];
}

/** The tool a case calls, read leniently; undefined where it calls none. */
export function calledTool({ bytes }: Case): string | undefined {
  if (bytes.length > 1_000_000) return "safe_tool";
  try {
    const message = JSON.parse(bytes.toString("utf8")) as { method?: unknown; params?: { name?: unknown } };
    const name = message.method === "tools/call" ? message.params?.name : undefined;
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}

function makeBytes({ b64 = "", gen }: RawCase): Buffer {
  if (gen === undefined) return Buffer.from(b64, "base64");
  const fill = Buffer.from(gen.fill_b64, "base64");
  return Buffer.concat([
    Buffer.from(gen.prefix_b64, "base64"),
    Buffer.alloc(fill.length * gen.repeat, fill),
    Buffer.from(gen.suffix_b64, "base64"),
  ]);
}
