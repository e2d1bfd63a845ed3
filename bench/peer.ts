import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expectAnswer, expectNothing } from "./silence.ts";

/** A running variant with the echo server behind it. */
export interface Peer {
  readonly pid: number;
  /** The last chunk that was received, and the total number of bytes received. */
  readonly last: Buffer;
  readonly heard: number;
  /** Sends text and resolves when this many lines have been received. */
  ask(text: string, lines?: number): Promise<void>;
  /** Sends text. Resolves when there is room for more. */
  tell(text: string | Buffer): Promise<void> | undefined;
  /** Calls back with the number of lines in every chunk received, until it returns true. */
  follow(hear: (lines: number) => boolean): Promise<void>;
  /** Closes stdin and resolves when the process has ended. */
  close(): Promise<void>;
}

/** Options for running peers. */
export interface Place {
  /** The file, and its descriptor, for their stderr. */
  readonly stderr: { readonly file: string; readonly descriptor: number };
}

/** Starts a variant. */
export function openPeer([program, ...args]: readonly string[], { stderr }: Place): Peer {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", stderr.descriptor], env: ENVIRONMENT });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("a process without pipes");
  let last: Buffer = Buffer.alloc(0);
  let heard = 0;
  let hear: ((lines: number) => boolean) | null = null;
  let settle: { resolve: () => void; reject: (error: Error) => void } | null = null;
  let closing = false;

  function fail(what: string): void {
    if (closing) return;
    const said = readFileSync(stderr.file, "utf8").slice(-2000);
    settle?.reject(new Error(`${[program, ...args].join(" ")}: ${what}\n${said}`));
  }

  function follow(next: (lines: number) => boolean): Promise<void> {
    hear = next;
    expectAnswer();
    return new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
  }

  stdout.on("data", (chunk: Buffer) => {
    last = chunk;
    heard += chunk.length;
    const lines = countLines(chunk);
    if (lines === 0 || hear === null) return;
    expectAnswer();
    if (!hear(lines)) return;
    hear = null;
    expectNothing();
    settle?.resolve();
  });
  child.on("error", (error) => fail(error.message));
  child.on("exit", (code, signal) => fail(`ended with ${code ?? signal}`));
  stdin.on("error", (error) => fail(error.message));

  return {
    pid: child.pid ?? 0,
    get last() {
      return last;
    },
    get heard() {
      return heard;
    },
    ask(text, lines = 1) {
      let open = lines;
      const answered = follow((count) => (open -= count) <= 0);
      stdin.write(text, "latin1");
      return answered;
    },
    tell(text) {
      const hasRoom = typeof text === "string" ? stdin.write(text, "latin1") : stdin.write(text);
      return hasRoom ? undefined : new Promise((resolve) => stdin.once("drain", resolve));
    },
    follow,
    close() {
      closing = true;
      return new Promise((resolve) => {
        child.once("close", () => resolve());
        stdin.end();
      });
    },
  };
}

// Variables that slow down the start of Node are removed. The command's shebang must find the same Node as the others.
const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, NODE_V8_COVERAGE: ___, ...inherited } = process.env;
/** The environment of every process that is started. */
export const ENVIRONMENT = {
  ...inherited,
  PATH: `${process.execPath.slice(0, process.execPath.lastIndexOf("/"))}:${process.env["PATH"]}`,
};

function countLines(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) lines++;
  return lines;
}

const LF = 0x0a;
