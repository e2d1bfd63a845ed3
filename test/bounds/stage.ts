import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Gateway, startGateway } from "../support/gateway.ts";
import type { Spoken } from "../support/peers.ts";
import { readCount } from "../support/command.ts";
import { replyWith, resultFor } from "../support/scripted-http.ts";

/** A request that has reached the server behind Fairlead. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What it says; null for the first of a body that the load itself reads. */
  readonly message: Spoken;
}

/** The command at work between a load and a server, and what it costs. */
export interface Stage {
  readonly port: number;
  readonly gateway: Gateway;
  /** Requests that the server has not answered yet, and the most there were at once. */
  readonly open: () => number;
  readonly mostOpen: () => number;
  /** Megabytes that the process has taken up, at the most. */
  readonly peak: () => number;
  /** Megabytes that it takes up now. */
  readonly now: () => number;
  /** Files and sockets that it has open. */
  readonly descriptors: () => number;
  /** For how many milliseconds its event loop stood still, at the longest. */
  readonly stall: () => number;
  end(): Promise<void>;
}

/** How a stage is set. */
export interface StageOptions {
  /** Answers what arrives at the server. False where it is to be answered as a good server would. */
  readonly answer?: (arrival: Arrival) => boolean;
  /** Takes a request before its body is read. False where it is to be read as usual. */
  readonly take?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** A server that is a command, instead of the one at a URL. */
  readonly command?: readonly string[];
  readonly descriptors?: number;
  /** A policy file. */
  readonly policy?: string;
}

const PROBE = resolve(import.meta.dirname, "../fixtures/loop-probe.mjs");

/** Starts a server and the command before it. */
export async function setStage(options: StageOptions = {}): Promise<Stage> {
  const { answer = () => false, take = () => false } = options;
  let open = 0;
  let mostOpen = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    open++;
    mostOpen = Math.max(mostOpen, open);
    response.on("close", () => open--);
    if (take(request, response)) return;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const message = (text === "" ? {} : JSON.parse(text)) as Spoken;
      const isOurs = text.includes('"fairlead');
      if (!isOurs && answer({ request, response, message })) return;
      if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
      const headers = message.method === "initialize" ? { "Mcp-Session-Id": `s${++sessions}` } : {};
      replyWith(response, resultFor(message), headers);
    });
  });
  let sessions = 0;
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bounds-"));
  const probed = join(folder, "loop");
  const { port } = server.address() as AddressInfo;
  const target =
    options.command === undefined ? ["--upstream", `http://127.0.0.1:${port}/mcp`] : ["--", ...options.command];
  const policy = join(folder, "policy.yaml");
  if (options.policy !== undefined) writeFileSync(policy, options.policy);
  const config = options.policy === undefined ? [] : ["--config", policy];
  const env = { NODE_OPTIONS: `--import=${PROBE}`, LOOP_PROBE_FILE: probed };
  const gateway = await startGateway([...config, ...target], env, options.descriptors);
  const { pid = 0 } = gateway.child;
  while (!existsSync(probed)) await delay(10); // the probe begins
  return {
    port: gateway.port,
    gateway,
    open: () => open,
    mostOpen: () => mostOpen,
    peak: () => readCount(pid, "status", "VmHWM") / 1024,
    now: () => readCount(pid, "status", "VmRSS") / 1024,
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    stall: () => Number(readFileSync(probed, "utf8")),
    async end() {
      gateway.kill("SIGKILL");
      await gateway.ended;
      server.closeAllConnections();
      await new Promise((closed) => {
        server.close(closed);
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
