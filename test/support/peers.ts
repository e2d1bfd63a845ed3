import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "vitest";

const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = join(project, "test", "peers");
const fixtures = join(project, "test", "fixtures", "servers");
const built = join(project, "dist", "command", "fairlead.cjs");

const REMEDY = "Run npm ci in test/peers, or npm test, which does.";

if (!existsSync(built)) throw new Error("The command is not built. Run node scripts/build.mjs, or npm test.");

/** Loads a module of one of the peers. They are no dependencies of ours, so their types are not known here. */
export const requirePeer: (name: string) => unknown = createRequire(join(folder, "package.json"));

/** A program of somebody else's, with the version that is installed. */
export interface Peer {
  readonly title: string;
  readonly command: readonly string[];
}

const KUBERNETES_BUILD = "kubernetes-mcp-server-linux-amd64";

/** A command of a package in test/peers. */
export function peer(name: string, bin: string, ...args: string[]): Peer {
  const title = titleOf(name);
  return { title, command: [process.execPath, realpathSync(join(folder, "node_modules", ".bin", bin)), ...args] };
}

/** A package and its installed version, for the names of tests. */
export function titleOf(name: string): string {
  const file = join(folder, "node_modules", name, "package.json");
  if (!existsSync(file)) throw new Error(`${name} is not installed. ${REMEDY}`);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return `${name} ${version}`;
}

/** A server in Go, which writes JSON in a way of its own. Only its Linux build is among the peers. */
export const KUBERNETES: Peer | null =
  process.platform === "linux" && process.arch === "x64"
    ? {
        title: titleOf(KUBERNETES_BUILD),
        command: [
          join(folder, "node_modules", KUBERNETES_BUILD, "bin", KUBERNETES_BUILD),
          "--kubeconfig",
          "kubeconfig",
        ],
      }
    : null;

/** Our own server on the newest SDK, which speaks both eras. */
export const MODERN: Peer = {
  title: `our own server on ${titleOf("@modelcontextprotocol/server")}`,
  command: [process.execPath, join(fixtures, "modern.mjs")],
};

/** The reference server with one of everything. */
export const EVERYTHING = peer("@modelcontextprotocol/server-everything", "mcp-server-everything", "stdio");

/** What passed a tee: what the client said, and what the server said. */
export interface Tape {
  readonly up: Buffer;
  readonly down: Buffer;
}

/** A test's own folder and processes. */
export interface Scene {
  readonly folder: string;
  /** By this variable in their environment the processes of a test are known. */
  readonly env: Readonly<Record<string, string>>;
  /** A server behind Fairlead, with a tee between the two. */
  fairlead(server: Peer, ...options: string[]): string[];
  /** A command with a tee before it. */
  taped(name: string, command: readonly string[]): string[];
  /** What the tees of this name wrote down, one tape for each run, in the order in which they began. */
  tapes(name: string): Tape[];
}

/** A test with real processes. When it is over, every one of them must have ended. */
export function scene(sentence: string, act: (stage: Scene) => Promise<void>): void {
  test(sentence, async () => {
    const home = mkdtempSync(join(tmpdir(), "fairlead-peers-"));
    const mark = randomBytes(12).toString("hex");
    const family = watchFamily(mark);
    try {
      await act(createScene(home, mark));
    } catch (error) {
      await family.leave(0);
      throw error;
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
    const left = await family.leave(2000);
    if (left.length > 0) throw new Error(`Still running after the test:\n${left.join("\n")}`);
  });
}

function createScene(home: string, mark: string): Scene {
  writeFileSync(join(home, "kubeconfig"), KUBECONFIG);
  const tee = [process.execPath, join(fixtures, "tee.mjs"), home];
  const taped = (name: string, command: readonly string[]): string[] => [...tee, name, "--", ...command];
  return {
    folder: home,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, PEERS_TEST: mark },
    fairlead: ({ command }, ...options) => [process.execPath, built, ...options, "--", ...taped("server", command)],
    taped,
    tapes(name) {
      const runs = readdirSync(home).flatMap((file) => new RegExp(`^${name}-(.*)\\.up$`).exec(file)?.[1] ?? []);
      const read = (run: string, way: string): Buffer => readFileSync(join(home, `${name}-${run}.${way}`));
      return runs.sort().map((run) => ({ up: read(run, "up"), down: read(run, "down") }));
    },
  };
}

/** A configuration of a cluster that is not there, for the server that needs one to start. */
const KUBECONFIG = `
{apiVersion: v1, kind: Config, current-context: none, users: [{name: none, user: {}}],
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}],
contexts: [{name: none, context: {cluster: none, user: none}}]}
`;

/** A request of the older era, in one line. */
export function request(id: number | string, method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** A call of a tool in the older era. */
export function call(id: number | string, name: string, args: object = {}): string {
  return request(id, "tools/call", { name, arguments: args });
}

/** How a conversation of the older era begins. */
export function initialize(capabilities: object = {}): string {
  const clientInfo = { name: "tester", version: "1" };
  return request(0, "initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
}

/** A request of 2026-07-28. */
export function modernRequest(id: number | string, method: string, params: object = {}, meta: object = {}): string {
  return request(id, method, { ...params, _meta: { ...META, ...meta } });
}

/** What every request of 2026-07-28 has to say about its sender. */
export const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "tester", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: {}, roots: {} },
};

/** The second line of a client of the older era. */
export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n';

/** A conversation that a test leads line by line, and both its sides as they were. */
export interface Talk {
  /** Sends bytes as they are. */
  write(text: string): void;
  /** Sends a request, as it is spelled, and waits for the line that answers it. */
  ask(line: string): Promise<string>;
  /** Waits for the next line that is like this, and has not been heard yet. */
  hear(isMeant: (message: Spoken) => boolean): Promise<string>;
  /** Ends it, and says what was said. A server that does not end by itself is asked to after a while. */
  end(patience?: number): Promise<Said>;
}

/** A conversation that is over. */
export interface Said {
  readonly sent: Buffer;
  readonly received: Buffer;
  readonly code: number | null;
  readonly stderr: string;
}

/** As much of a message as tests look at. */
export interface Spoken {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Starts a command and talks to it. */
export function talkTo(stage: Scene, command: readonly string[]): Talk {
  const child = spawn(command[0], command.slice(1), { stdio: "pipe", env: stage.env, cwd: stage.folder });
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on("error", () => {});
  const unheard: string[] = [];
  let wake: (() => void) | null = null;
  let rest = Buffer.alloc(0);
  child.stdout.on("data", (chunk: Buffer) => {
    received.push(chunk);
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      unheard.push(rest.toString("utf8", 0, end));
      rest = rest.subarray(end + 1);
    }
    wake?.();
  });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));

  const talk: Talk = {
    write(text) {
      const bytes = Buffer.from(text);
      sent.push(bytes);
      child.stdin.write(bytes);
    },
    ask(line) {
      const { id } = JSON.parse(line) as Spoken;
      talk.write(`${line}\n`);
      return talk.hear((message) => message.id === id && message.method === undefined);
    },
    async hear(isMeant) {
      const until = Date.now() + HEAR_MS;
      for (;;) {
        const index = unheard.findIndex((line) => isMeant(JSON.parse(line) as Spoken));
        if (index >= 0) return unheard.splice(index, 1)[0];
        const news = new Promise<void>((resolve) => (wake = resolve));
        const left = until - Date.now();
        if (left > 0 && child.exitCode === null) await Promise.race([news, delay(Math.min(left, 500))]);
        else throw new Error(`Not heard: ${String(isMeant)}\nUnheard:\n${unheard.join("\n")}\nstderr:\n${stderr}`);
      }
    },
    async end(patience = 8000) {
      child.stdin.end();
      const code = await ended(child, closed, patience);
      return { sent: Buffer.concat(sent), received: Buffer.concat(received), code, stderr };
    },
  };
  return talk;
}

const HEAR_MS = 10_000;

/** What a conversation needs before it begins, so that it finds the same each time, and what differs all the same. */
export interface Conditions {
  readonly prepare?: (stage: Scene) => void;
  /** Takes out of a transcript what differs from run to run. */
  readonly steady?: (transcript: Buffer) => Buffer;
}

/** Leads a conversation without Fairlead and with it. Nobody must be able to tell from the bytes. */
export async function expectSameTalk(
  stage: Scene,
  server: Peer,
  lead: (talk: Talk) => Promise<void>,
  { prepare, steady = (transcript) => transcript }: Conditions = {},
): Promise<Buffer> {
  prepare?.(stage);
  const alone = hold(stage, server.command, lead, 500);
  // At the same time, to save some, where they do not stand in each other's way.
  if (prepare !== undefined) await alone;
  prepare?.(stage);
  const [direct, through] = await Promise.all([alone, hold(stage, stage.fairlead(server), lead)]);
  const [tape] = stage.tapes("server");
  expectSameBytes("what the server got", tape.up, through.sent);
  expectSameBytes("what the client got", through.received, tape.down);
  expectSameBytes("what the client said", steady(through.sent), steady(direct.sent));
  expectSameBytes("the transcript", steady(through.received), steady(direct.received));
  return through.received;
}

/** Leads a conversation to its end. */
export async function hold(
  stage: Scene,
  command: readonly string[],
  lead: (talk: Talk) => Promise<void>,
  patience = 8000,
): Promise<Said> {
  const talk = talkTo(stage, command);
  await lead(talk);
  return talk.end(patience);
}

/** The same with a client that somebody else wrote. */
export async function expectSameDrive(
  stage: Scene,
  server: Peer,
  drive: (command: readonly string[]) => Promise<void>,
  { prepare = () => {}, steady = (transcript) => transcript }: Conditions = {},
): Promise<void> {
  for (const command of [server.command, stage.fairlead(server)]) {
    prepare(stage);
    await drive(command);
  }
  const clients = stage.tapes("client");
  const servers = stage.tapes("server");
  // A client may start its command more than once, but not more often because of us.
  if (clients.length !== 2 * servers.length || servers.length === 0)
    throw new Error("Not as many starts as without us");
  servers.forEach((tape, nth) => {
    const [direct, through] = [clients[nth], clients[servers.length + nth]];
    expectSameBytes("what the server got", tape.up, through.up);
    expectSameBytes("what the client got", through.down, tape.down);
    expectSameBytes("what the client said", steady(through.up), steady(direct.up));
    expectSameBytes("the transcript", steady(through.down), steady(direct.down));
  });
}

/** Runs a program to its end. */
export async function runProgram(
  stage: Scene,
  command: readonly string[],
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const child = spawn(command[0], command.slice(1), { env: stage.env, cwd: stage.folder });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end();
  const code = await ended(child, new Promise((resolve) => child.once("close", resolve)), 30_000);
  return { stdout, stderr, code };
}

async function ended(child: ChildProcess, closed: Promise<number | null>, patience: number): Promise<number | null> {
  const timers = [
    setTimeout(() => child.kill("SIGTERM"), patience),
    setTimeout(() => child.kill("SIGKILL"), patience + 8000),
  ];
  const code = await closed;
  for (const timer of timers) clearTimeout(timer);
  return code;
}

/** An answer of an SDK's, of which tests look at little. */
type Loose = Readonly<Record<string, unknown>>;

/** What the clients of both SDKs have in common. */
export interface SdkClient {
  close(): Promise<void>;
  listTools(params?: Loose): Promise<{ tools: readonly { readonly name: string }[]; nextCursor?: string }>;
  call(name: string, args?: Loose, options?: Loose): Promise<Loose>;
  ping(): Promise<Loose>;
  complete(params: Loose): Promise<Loose>;
  setLoggingLevel(level: string): Promise<Loose>;
  listPrompts(): Promise<Loose>;
  getPrompt(params: Loose): Promise<Loose>;
  listResources(): Promise<Loose>;
  listResourceTemplates(): Promise<Loose>;
  readResource(params: Loose): Promise<Loose>;
  subscribeResource(params: Loose): Promise<Loose>;
  /** Version 2 in the newer era only. */
  listen(filter: Loose): Promise<{ close(): Promise<void> }>;
  getNegotiatedProtocolVersion(): string | undefined;
}

/** How an SDK's client is to be. */
interface SdkOptions {
  readonly capabilities?: Loose;
  /** Its answers to what servers ask, by method. */
  readonly answers?: Readonly<Record<string, (request: Spoken) => Loose>>;
  /** Called with the method of every notification in this list. */
  readonly notices?: readonly string[];
  readonly onNotice?: (method: string) => void;
}

/** A client of one of the SDKs, in one of its modes. */
export interface SdkPeer {
  readonly title: string;
  /** The revision it speaks with a server that speaks all. */
  readonly revision: string;
  /** Connects it to a command, with a tee named "client" before that. */
  connect(stage: Scene, command: readonly string[], options?: SdkOptions): Promise<SdkClient>;
  /** Connects it to a URL. */
  connectTo(url: string, transport: "http" | "sse", options?: SdkOptions): Promise<SdkClient>;
}

interface Sdk {
  readonly Client: new (info: Loose, options: Loose) => SdkClient & SdkInside;
  readonly StdioClientTransport: new (options: Loose) => unknown;
  readonly StreamableHTTPClientTransport: new (url: URL) => unknown;
  readonly SSEClientTransport: new (url: URL) => unknown;
}

interface SdkInside {
  connect(transport: unknown): Promise<void>;
  callTool(params: Loose, ...others: unknown[]): Promise<Loose>;
  setRequestHandler(key: unknown, handler: (request: Spoken) => Loose): void;
  setNotificationHandler(key: unknown, handler: () => void): void;
}

/** The client of the first SDK, which speaks up to 2025-11-25. */
export const SDK_V1: SdkPeer = sdkPeer(titleOf("@modelcontextprotocol/sdk"), "2025-11-25", undefined);

/** The client of the second SDK as it is by default. */
export const SDK_V2: SdkPeer = sdkPeer(`${titleOf("@modelcontextprotocol/client")} (legacy)`, "2025-11-25", "legacy");

/** The same, finding out what the server speaks: on stdio it starts the command twice. */
export const SDK_V2_AUTO: SdkPeer = sdkPeer(`${titleOf("@modelcontextprotocol/client")} (auto)`, "2026-07-28", "auto");

/** The same, speaking 2026-07-28 or nothing. */
export const SDK_V2_PINNED: SdkPeer = sdkPeer(
  `${titleOf("@modelcontextprotocol/client")} (pinned to 2026-07-28)`,
  "2026-07-28",
  { pin: "2026-07-28" },
);

function sdkPeer(title: string, revision: string, mode: unknown): SdkPeer {
  const isFirst = mode === undefined;
  return {
    title,
    revision,
    async connect(stage, command, options = {}) {
      const { StdioClientTransport } = loadSdk(isFirst);
      const [program, ...args] = stage.taped("client", command);
      return meet(
        new StdioClientTransport({ command: program, args, env: stage.env, cwd: stage.folder, stderr: "ignore" }),
        options,
      );
    },
    connectTo(url, transport, options = {}) {
      const { StreamableHTTPClientTransport, SSEClientTransport } = loadSdk(isFirst);
      const Transport = transport === "http" ? StreamableHTTPClientTransport : SSEClientTransport;
      return meet(new Transport(new URL(url)), options);
    },
  };

  async function meet(transport: unknown, options: SdkOptions): Promise<SdkClient> {
    const { Client } = loadSdk(isFirst);
    const { capabilities = {}, answers = {}, notices = [], onNotice = () => {} } = options;
    const negotiation = isFirst ? {} : { versionNegotiation: { mode } };
    const client = new Client({ name: "tester", version: "1" }, { capabilities, ...negotiation });
    for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(keyOf(method, isFirst), answer);
    for (const method of notices) client.setNotificationHandler(keyOf(method, isFirst), () => onNotice(method));
    await client.connect(transport);
    client.call = (name, args = {}, others = {}) =>
      client.callTool({ name, arguments: args }, ...(isFirst ? [undefined, others] : [others]));
    return client;
  }
}

function loadSdk(isFirst: boolean): Sdk {
  const name = isFirst ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
  const parts = isFirst ? ["index.js", "stdio.js", "streamableHttp.js", "sse.js"] : ["", "stdio"];
  const modules = parts.map((part) => requirePeer(part === "" ? name : `${name}/${part}`) as Sdk);
  return Object.assign({}, ...modules) as Sdk;
}

/** What a handler is set by: the first SDK wants a schema, the second the method's name. */
function keyOf(method: string, isFirst: boolean): unknown {
  if (!isFirst) return method;
  const types = requirePeer("@modelcontextprotocol/sdk/types.js") as Loose;
  const key = SCHEMAS[method];
  if (key === undefined || types[key] === undefined) throw new Error(`No schema for ${method}`);
  return types[key];
}

const SCHEMAS: Readonly<Record<string, string>> = {
  "roots/list": "ListRootsRequestSchema",
  "sampling/createMessage": "CreateMessageRequestSchema",
  "elicitation/create": "ElicitRequestSchema",
  "notifications/tools/list_changed": "ToolListChangedNotificationSchema",
  "notifications/message": "LoggingMessageNotificationSchema",
  "notifications/resources/updated": "ResourceUpdatedNotificationSchema",
};

/** Fails unless both are the same bytes, and shows the first place where they are not. */
export function expectSameBytes(what: string, actual: Buffer, expected: Buffer): void {
  if (actual.equals(expected)) return;
  let at = 0;
  while (at < actual.length && actual[at] === expected[at]) at++;
  const around = (bytes: Buffer): string => JSON.stringify(bytes.toString("latin1", Math.max(0, at - 120), at + 80));
  throw new Error(
    `${what}: differs at byte ${at} of ${actual.length} (expected ${expected.length})\n` +
      `actual:   ${around(actual)}\nexpected: ${around(expected)}`,
  );
}

/** The same for lines, of which some were left out. */
export function expectSameLines(what: string, actual: readonly string[], expected: readonly string[]): void {
  expectSameBytes(what, Buffer.from(actual.join("\n")), Buffer.from(expected.join("\n")));
}

/** The lines of a recording. */
export function linesOf(bytes: Buffer): string[] {
  return bytes.toString("utf8").split("\n").slice(0, -1);
}

/** The elements of the one array `"tools":[…]` in a line, each exactly as it is spelled. */
export function toolsIn(line: string): string[] {
  const begin = line.indexOf('"tools":[') + '"tools":['.length;
  const elements: string[] = [];
  let depth = 0;
  let start = begin;
  for (let at = begin; at < line.length; at++) {
    const character = line[at];
    if (character === '"') {
      while (line[++at] !== '"') if (line[at] === "\\") at++;
    } else if (character === "{" || character === "[") depth++;
    else if (depth > 0 && (character === "}" || character === "]")) depth--;
    else if (depth === 0 && (character === "," || character === "]")) {
      if (at > start) elements.push(line.slice(start, at));
      start = at + 1;
      if (character === "]") return elements;
    }
  }
  throw new Error(`No list of tools: ${line}`);
}

/** Keeps an eye on all processes with a mark in their environment and on what those start, also without it. */
export function watchFamily(mark: string) {
  const ours = new Map<string, { readonly since: string; readonly line: string }>();
  // How often each of the others was looked at. Whoever was here before is none of ours; a new one is looked at
  // several times, because between its birth and its first own program it has its parent's environment.
  let others = new Map(processes().map((pid) => [pid, MAX_LOOKS]));

  function look(): void {
    const looked = new Map<string, number>();
    for (const pid of processes().filter((name) => !ours.has(name))) {
      const times = others.get(pid) ?? 0;
      looked.set(pid, times + 1);
      if (times >= MAX_LOOKS) continue;
      const { parent, since } = statusOf(pid);
      if (!ours.has(parent) && !read(`/proc/${pid}/environ`).includes(mark)) continue;
      ours.set(pid, { since, line: `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll(/[\0\s]+/g, " ")}` });
    }
    others = looked;
  }

  function alive(): [pid: string, line: string][] {
    look();
    return [...ours].flatMap(([pid, { since, line }]) => {
      const status = statusOf(pid);
      return status.since === since && !"ZX".includes(status.state) ? [[pid, line]] : [];
    });
  }

  const timer = setInterval(look, 100);
  return {
    /** Waits until all have ended, ends those that have not, and names them. */
    async leave(patience: number): Promise<string[]> {
      const until = Date.now() + patience;
      let left = alive();
      while (left.length > 0 && Date.now() < until) {
        await delay(50);
        left = alive();
      }
      clearInterval(timer);
      for (const [pid] of left) {
        try {
          process.kill(Number(pid), "SIGKILL");
        } catch {
          // It went by itself.
        }
      }
      return left.map(([, line]) => line);
    },
  };
}

const MAX_LOOKS = 5;

function processes(): string[] {
  if (!existsSync("/proc")) return []; // only on Linux can it be told
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

function statusOf(pid: string): { state: string; parent: string; since: string } {
  // "pid (any text) state parent … start": the text may hold spaces and parentheses.
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "X", parent: fields[1] ?? "", since: fields[19] ?? "" };
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
