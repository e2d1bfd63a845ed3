import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { createPieces } from "../wire/pieces.ts";
import { cannotRun, started } from "./child.ts";
import { killFamily } from "./family.ts";
import { createMark, MARK_VARIABLE, markedEnvironment } from "./mark.ts";
import { createTurnstile } from "./turnstile.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";
import type { HookReply } from "./webhook.ts";
import { commandLine } from "./windows.ts";

/** A program that is asked about a message. It is started as it is: no shell reads its path or its arguments. */
export interface Script {
  readonly path: string;
  readonly args: readonly string[];
  /** From the question to the answer, the time it waits for others included. */
  readonly timeoutMs: number;
}

/** Runs scripts. What they start ends with them. */
export interface ScriptRunner {
  /** Gives a script its input and waits for what it says on stdout. Never rejects. */
  run(script: Script, input: Buffer, signal?: AbortSignal): Promise<HookReply>;
  /** Ends all that runs, now and synchronously. Who waits hears so. */
  close(): void;
}

/** How scripts are run. */
export interface ScriptOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Told what a script says on stderr, line by line, so much of it and no more. */
  readonly onComplaint: (path: string, text: string) => void;
  readonly onTrouble: (text: string) => void;
}

/** Scripts at a time. */
const MAX_RUNNING = 8;
const MAX_WAITING = 200;
/** The least a script may say. One with a longer input may say twice as much as that. */
const MAX_REPLY_BYTES = 1024 * 1024;
/** What is heard of its stderr. All of it is read: a script must not wait for us. */
const MAX_COMPLAINT_BYTES = 16 * 1024;
/** How long after its end what it said may take to arrive. */
const LAST_WORDS_MS = 1000;

/** Makes a runner. */
export function createScriptRunner({ cwd, env = process.env, onComplaint, onTrouble }: ScriptOptions): ScriptRunner {
  const turnstile = createTurnstile(MAX_RUNNING, MAX_WAITING);
  const pending = new Set<(reply: HookReply) => void>();
  // One watchdog for all: it knows this mark, and every script carries it beside its own.
  const ownMark = createMark();
  const marks = env[MARK_VARIABLE];
  const marked = { ...env, [MARK_VARIABLE]: marks === undefined ? ownMark : `${marks}:${ownMark}` };
  let watchdog: Watchdog | undefined;
  let isWatched = false;
  let isClosed = false;

  function watch(): Watchdog | undefined {
    if (!isWatched)
      watchdog = startWatchdog(ownMark, (error) => onTrouble(`the watchdog does not run: ${error.message}`));
    isWatched = true;
    return watchdog;
  }

  /** Starts a script and follows it to its end. Returns how to end it. */
  function start(script: Script, input: Buffer, end: (reply: HookReply) => void): () => void {
    const mark = createMark();
    // Before the script: if we are killed between the two, it finds the script by its mark.
    const dog = watch();
    let child: ChildProcess;
    try {
      const line = commandLine(script.path, script.args);
      child = spawn(line.command, line.args, {
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32", // a group of its own, so that all of it can be ended
        env: markedEnvironment(marked, {}, mark),
        cwd,
        windowsHide: true,
        windowsVerbatimArguments: line.verbatim,
      });
    } catch (error) {
      end({ failure: cannotRun(script.path, error as NodeJS.ErrnoException).message });
      return nothing;
    }
    started(child).catch((error: NodeJS.ErrnoException) => end({ failure: cannotRun(script.path, error).message }));
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null) return nothing;
    dog?.watch(pid);
    let isOver = false;
    const kill = (): void => {
      if (isOver) return; // the number may be somebody else's by now
      isOver = true;
      killFamily(pid, mark);
      dog?.unwatch(pid);
    };
    const heard = hear(stderr, (text) => onComplaint(script.path, text));
    const said = collect(stdout, Math.max(MAX_REPLY_BYTES, 2 * input.length), () =>
      end({ failure: "sent a response that is too large" }),
    );
    stdin.on("error", () => {}); // it need not read
    stdin.end(input);
    child.once("exit", (code, name) => {
      // What it left in the background ends, too, and with that its pipes are closed.
      kill();
      const close = (reply: HookReply): void => {
        clearTimeout(late);
        if (code === 0) end(reply);
        else end({ failure: code === null ? `was ended by the signal ${name}` : `ended with exit code ${code}` });
      };
      const late = setTimeout(close, LAST_WORDS_MS, {
        failure: "left a background process that keeps its stdout or stderr open",
      });
      void Promise.all([said, heard]).then(([body]) => close({ body }));
    });
    return () => {
      kill();
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    };
  }

  return {
    run(script, input, signal) {
      return new Promise((resolve) => {
        let isInside = false;
        let isOver = false;
        let stop = nothing;
        const end = (reply: HookReply): void => {
          if (isOver) return;
          isOver = true;
          clearTimeout(timer);
          signal?.removeEventListener("abort", leave);
          pending.delete(end);
          withdraw?.();
          stop();
          resolve(reply);
          if (isInside) turnstile.leave();
        };
        const leave = (): void => end({ failure: "was cancelled" });
        const timer = setTimeout(() => end({ failure: `did not end within ${script.timeoutMs} ms` }), script.timeoutMs);
        let withdraw: (() => void) | null = null;
        if (isClosed) return end({ failure: "was closed" });
        if (signal?.aborted === true) return leave();
        signal?.addEventListener("abort", leave, { once: true });
        pending.add(end);
        withdraw = turnstile.enter(() => {
          isInside = true;
          stop = start(script, input, end);
        });
        if (withdraw === null) end({ failure: "did not start: too many scripts are waiting" });
      });
    },
    close() {
      isClosed = true;
      turnstile.close();
      for (const end of pending) end({ failure: "was closed" });
      watchdog?.dismiss();
    },
  };
}

function nothing(): void {}

/** All that is said on a stream, up to a limit. */
function collect(stream: Readable, most: number, onTooMuch: () => void): Promise<Buffer> {
  const pieces = createPieces();
  let size = 0;
  return new Promise((resolve) => {
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) onTooMuch();
      else pieces.push(chunk);
    });
    stream.on("error", () => {});
    stream.on("close", () => resolve(pieces.join()));
  });
}

/** Hands on the lines that are said on a stream, as far as they are heard. Resolves when it ends. */
function hear(stream: Readable, onLine: (text: string) => void): Promise<void> {
  let heard = 0;
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const left = MAX_COMPLAINT_BYTES - heard;
    if (left <= 0) return;
    heard += chunk.length;
    const lines = (rest + chunk.slice(0, left)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
    if (heard < MAX_COMPLAINT_BYTES) return;
    onLine(`${rest}…`);
    rest = "";
  });
  stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.on("close", () => {
      if (rest !== "") onLine(rest);
      resolve();
    });
  });
}
