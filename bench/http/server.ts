import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ENVIRONMENT, type Place } from "../peer.ts";
import { killFamily } from "../processes.ts";
import { openConnection } from "./connection.ts";

/** A program that listens on a port. */
export interface Server {
  readonly port: number;
  /** Null if it was already running. */
  readonly pid: number | null;
  /** Kills it and everything it started. */
  close(): Promise<void>;
}

/** Starts a program that listens on this port, and waits until it accepts connections. */
export async function startServer([program, ...args]: readonly string[], port: number, place: Place): Promise<Server> {
  const { file, descriptor } = place.stderr;
  const child = spawn(program, args, { stdio: ["ignore", descriptor, descriptor], env: ENVIRONMENT });
  let ended: string | null = null;
  let isClosing = false;
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });

  function fail(how: string): void {
    if (isClosing) return;
    const said = readFileSync(file, "utf8").slice(-2000);
    ended = `${[program, ...args].join(" ")}: ${how}\n${said}`;
    if (isReady) throw new Error(ended);
  }

  let isReady = false;
  child.once("error", (error) => fail(error.message));
  child.once("exit", (code, signal) => fail(`ended with ${code ?? signal}`));
  for (const until = performance.now() + MAX_START_MS; ; await delay(2)) {
    if (ended !== null) throw new Error(ended);
    if (await listens(port)) break;
    if (performance.now() > until) throw new Error(`${[program, ...args].join(" ")}: nobody listens on ${port}`);
  }
  isReady = true;
  return {
    port,
    pid: child.pid ?? 0,
    async close() {
      isClosing = true;
      killFamily(child.pid ?? 0);
      await gone;
    },
  };
}

const MAX_START_MS = 30_000;

async function listens(port: number): Promise<boolean> {
  try {
    (await openConnection(port)).close();
    return true;
  } catch {
    return false;
  }
}

/** Finds a free port. */
export async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}
