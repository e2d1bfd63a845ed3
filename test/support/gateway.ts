import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { COMMAND } from "./command.ts";

/** Fairlead at work with an HTTP door. */
export interface Gateway {
  readonly port: number;
  readonly child: ChildProcess;
  /** What it has complained and logged so far. */
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code, when it has one. */
  readonly ended: Promise<number | null>;
}

/** How it ended before it could listen. */
export interface Refused {
  readonly code: number | null;
  readonly stderr: string;
}

const running = new Set<ChildProcess>();

/** Starts Fairlead and waits until it listens. The options need no `--listen`. It may open so many files and sockets. */
export async function startGateway(
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
  descriptors?: number,
): Promise<Gateway> {
  const started = start(options.includes("--listen") ? options : ["--listen", "0", ...options], env, descriptors);
  const { child, stderr, ended } = started;
  const limit = performance.now() + 20_000;
  for (;;) {
    const match = /listening url="https?:\/\/(?:\[.*?\]|[^:\s]+):(\d+)\/mcp/.exec(stderr());
    if (match !== null) return { ...started, port: Number(match[1]), kill: (signal) => void child.kill(signal) };
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > limit) {
      child.kill("SIGKILL");
      throw new Error(`does not listen: ${(await ended, stderr())}`);
    }
    await delay(10);
  }
}

/** Runs Fairlead where it is not to start: how it ends. */
export async function refuseToStart(options: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Refused> {
  const { stderr, ended } = start(options, env);
  return { code: await ended, stderr: stderr() };
}

/** Ends all that are still running. */
export function stopGateways(signal: NodeJS.Signals = "SIGKILL"): void {
  for (const child of running) child.kill(signal);
}

function start(
  options: readonly string[],
  env: NodeJS.ProcessEnv,
  descriptors?: number,
): Pick<Gateway, "child" | "stderr" | "ended"> {
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, COMMAND, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  running.add(child);
  let complaints = "";
  child.stderr.on("data", (chunk: Buffer) => (complaints += chunk.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => {
    child.on("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  return { child, stderr: () => complaints, ended };
}
