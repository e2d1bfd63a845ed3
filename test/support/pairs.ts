import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EVERYTHING, linesOf, MODERN, type Peer, type Scene, type Talk, talkTo } from "./peers.ts";
import { COMMAND } from "./processes.ts";
import { record, type Recorder } from "./recorder.ts";
import { talkHttp, talkSse, type WireTalk } from "./wire-talk.ts";

/** How a client or a server speaks: lines on stdio, Streamable HTTP, or the HTTP+SSE of 2024-11-05. */
export type Transport = "stdio" | "http" | "sse";

/** All of them. */
export const TRANSPORTS: readonly Transport[] = ["stdio", "http", "sse"];

/** A server by one transport. */
export interface Target {
  readonly transport: Transport;
  /** For stdio. */
  readonly peer: Peer;
  /** For the others: where it is, and what writes down what it hears and says. */
  readonly recorder: Recorder | null;
  stop(): Promise<void>;
}

/** One side of a conversation: messages as latin1, those of each stream by themselves. */
export interface Side {
  readonly up: readonly string[];
  readonly down: readonly (readonly string[])[];
}

/** Processes of a test that are to be stopped at its end. */
export async function withPrograms(act: (start: Start) => Promise<void>): Promise<void> {
  const started: ChildProcess[] = [];
  const start: Start = (command, env, cwd) => {
    const child = spawn(command[0], command.slice(1), { env: { ...env }, cwd, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => {});
    started.push(child);
    return child;
  };
  try {
    await act(start);
  } finally {
    await Promise.all(started.map(stop));
  }
}

/** Starts a program. */
export type Start = (command: readonly string[], env: Readonly<Record<string, string>>, cwd: string) => ChildProcess;

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const patience = setTimeout(() => child.kill("SIGKILL"), 8000);
  await over;
  clearTimeout(patience);
}

/** Starts server-everything, or the server on the newest SDK, by a transport. */
export async function startTarget(
  stage: Scene,
  start: Start,
  which: "everything" | "modern",
  transport: Transport,
): Promise<Target> {
  const peer = which === "everything" ? EVERYTHING : MODERN;
  if (transport === "stdio") return { transport, peer, recorder: null, stop: async () => {} };
  const port = await freePort();
  const command =
    which === "modern"
      ? [process.execPath, join(import.meta.dirname, "../fixtures/servers/modern-http.mjs")]
      : [...peer.command.slice(0, -1), transport === "http" ? "streamableHttp" : "sse"];
  const child = start(command, { ...stage.env, PORT: String(port) }, stage.folder);
  child.stdout?.resume();
  child.stderr?.resume();
  await reached(port);
  const recorder = await record(`http://127.0.0.1:${port}${transport === "http" ? "/mcp" : "/sse"}`);
  return {
    transport,
    peer,
    recorder,
    async stop() {
      await recorder.close();
      await stop(child);
    },
  };
}

/** Fairlead that listens, and where. */
export interface Gateway {
  readonly url: string;
  readonly child: ChildProcess;
  readonly stderr: () => string;
}

/** Starts Fairlead with --listen before a server. */
export async function listenBefore(
  stage: Scene,
  start: Start,
  server: readonly string[],
  ...options: string[]
): Promise<Gateway> {
  const command = [process.execPath, COMMAND, "--listen", "0", ...options, ...server];
  const child = start(command, stage.env, stage.folder);
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout?.resume();
  for (const until = Date.now() + 20_000; ; await delay(20)) {
    const url = /listening url="?([^\s"]+)\/mcp/.exec(stderr)?.[1];
    if (url !== undefined) return { url, child, stderr: () => stderr };
    if (child.exitCode !== null || Date.now() > until) throw new Error(`Fairlead does not listen:\n${stderr}`);
  }
}

/** How Fairlead is told where the server is. */
function serverWords(stage: Scene, target: Target, tape = "server"): string[] {
  return target.recorder === null
    ? ["--", ...stage.taped(tape, target.peer.command)]
    : ["--upstream", target.recorder.url];
}

/** The same with a server of its own, which is gone afterwards. */
export async function converseAlone(
  stage: Scene,
  which: "everything" | "modern",
  [client, server]: readonly [Transport | "direct", Transport],
  lead: Lead,
  ...options: string[]
): Promise<Sides> {
  const results: Sides[] = [];
  await withPrograms(async (start) => {
    const target = await startTarget(stage, start, which, server);
    try {
      results.push(await converseBy(stage, start, client, target, lead, ...options));
    } finally {
      await target.stop();
    }
  });
  return results[0];
}

/** Leads a conversation. */
export type Lead = (talk: Talk) => Promise<void>;

/**
 * Lets several conversations begin at the same time, when all that they need has been started. A machine that is busy
 * starting things is slow, and some servers do not wait for their clients.
 */
export function together(count: number, lead: Lead): Lead {
  let missing = count;
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return async (talk) => {
    if (--missing === 0) setTimeout(() => open?.(), 1500);
    await opened;
    await lead(talk);
  };
}

/** A conversation as it was at both ends. */
export interface Sides {
  readonly client: Side;
  readonly server: Side;
}

/** Leads a conversation with a server, without Fairlead or with it. Both sides as they were. */
async function converseBy(
  stage: Scene,
  start: Start,
  client: Transport | "direct",
  target: Target,
  lead: Lead,
  ...options: string[]
): Promise<Sides> {
  const isDirect = client === "direct";
  const tape = `server-by-${client}`;
  const words = serverWords(stage, target, tape);
  if ((isDirect && target.recorder === null) || client === "stdio") {
    const command = isDirect ? words.slice(1) : [process.execPath, COMMAND, ...options, ...words];
    const talk = talkTo(stage, command);
    await lead(talk);
    const { sent, received } = await talk.end();
    return { client: { up: latin(sent), down: [latin(received)] }, server: serverSide(stage, target, tape) };
  }
  const way = isDirect ? target.transport : client;
  let url = target.recorder?.url ?? "";
  if (!isDirect) {
    const gateway = await listenBefore(stage, start, words, ...options);
    url = gateway.url + (way === "sse" ? "/sse" : "/mcp");
  }
  const talk: WireTalk = way === "sse" ? await talkSse(url) : talkHttp(url);
  await lead(talk);
  await talk.end();
  await delay(100); // what came last is written down
  return { client: { up: talk.sent, down: talk.streams }, server: serverSide(stage, target, tape) };
}

/** What the server heard and said, in all conversations but those that Fairlead led by itself. */
function serverSide(stage: Scene, { recorder }: Target, tape: string): Side {
  if (recorder !== null) {
    const all = recorder.recordings();
    return { up: all.flatMap(({ up }) => up), down: all.flatMap(({ down }) => down) };
  }
  const tapes = stage.tapes(tape).filter(({ up }) => up.length > 0);
  return { up: tapes.flatMap(({ up }) => latin(up)), down: tapes.map(({ down }) => latin(down)) };
}

function latin(bytes: Buffer): string[] {
  return linesOf(bytes).map((line) => Buffer.from(line).toString("latin1"));
}

/** A port that is free just now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits until somebody listens there. */
async function reached(port: number): Promise<void> {
  for (const until = Date.now() + 20_000; Date.now() < until; await delay(50)) {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
  }
  throw new Error(`Nobody listens at port ${port}`);
}
