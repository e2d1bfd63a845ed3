import { performance } from "node:perf_hooks";
import { OPEN_OBJECT } from "../message/characters.ts";
import { composeError, composeResult } from "../message/compose.ts";
import type { Gist } from "../message/gist.ts";
import { findMember } from "../message/members.ts";
import { openMessage, type Message, type Payload } from "../message/message.ts";
import { describeError } from "../message/wire-errors.ts";
import { readBanner } from "../record/log/banner.ts";
import { askForNothing, createLearner } from "../relay/learn.ts";
import type { Call } from "../session/call.ts";
import { type CatalogueKeeper, createCatalogues, type Refusal } from "../session/catalogue.ts";
import { type Era, META_KEYS, OWN_REVISION } from "../message/protocol.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Question } from "../session/question.ts";
import { createSession, type Session } from "../session/session.ts";

/** A client inside the proxy. It performs the handshake with a server and lists its tools. */
export interface OwnClient {
  /** Takes a message from the server. */
  receive(payload: Payload): void;
  /** Takes note of a message from the server that was too large to keep. */
  lost(gist: Gist): void;
  /** Performs the handshake: of the given era, or of the one that the server understands. */
  greet(how: Era | "either"): Promise<Greeting>;
  /** Fetches the tool list until it does not change any more. */
  listTools(greeting: Greeting): Promise<CatalogueKeeper>;
  /** Sends a request and returns the response. */
  ask(question: Question): Promise<Message>;
  /** Calls a tool that the server does not have. */
  askForNothing(greeting: Greeting): Promise<Refusal | null>;
  /** Whether a request of this client is still open. */
  isWaiting(call: Call): boolean;
  /** What was received so far: the number of messages, and the first text that was not a message. */
  readonly heard: { readonly messages: number; readonly banner: string | null };
}

/** The result of the handshake. */
export interface Greeting {
  readonly era: Era;
  /** The `_meta` that every request must carry, as JSON text; null if the era has none. */
  readonly meta: string | null;
  /** Whether the server accepted. */
  readonly isWelcome: boolean;
  /** Whether the server may later notify that its tools have changed. */
  readonly mayChange: boolean;
  /** What the server answered instead of accepting, in readable form; null if it accepted. */
  readonly refusal: string | null;
}

/** Options of the proxy's own client. */
export interface OwnClientOptions {
  /** Sends a message to the server. */
  readonly send: (payload: Buffer, session: Session) => void;
  /** How messages arrive from the server. */
  readonly exchange: Exchange;
  readonly greetMs: number;
  readonly listMs: number;
  readonly version: string;
}

/** Makes a client. It declares the capabilities that some servers require before they list all their tools. */
export function createOwnClient({ send, exchange, greetMs, listMs, version }: OwnClientOptions): OwnClient {
  let changes = 0;
  const heard = { messages: 0, banner: null as string | null };
  let fail: ((error: Error) => void) | undefined;
  const catalogues = createCatalogues(now);
  const session: Session = createSession({
    catalogues,
    maxOpenCalls: MAX_OPEN_CALLS,
    learnsTools: () => true,
    say: (_, payload) => say(payload),
    now,
  });
  const learner = createLearner({ session, timeoutMs: listMs });
  const info = JSON.stringify({ name: "fairlead", version });
  const capabilities = '{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}';

  function say(payload: Buffer): void {
    send(payload, session);
  }

  async function greet(how: Era | "either"): Promise<Greeting> {
    if (how !== "stateless") {
      const welcome = await initialize();
      if (welcome.isWelcome || how === "stateful") return { era: "stateful", meta: null, ...welcome };
    }
    // The server has no handshake, so every request carries the client's information.
    const { protocolVersion, clientInfo, clientCapabilities } = META_KEYS;
    const meta = `{"${protocolVersion}":"${OWN_REVISION.stateless}","${clientInfo}":${info},"${clientCapabilities}":${capabilities}}`;
    const params = `{"_meta":${meta}}`;
    const question = { method: "server/discover", params, era: "stateless", cursor: null, timeoutMs: greetMs } as const;
    const answer = await session.ask(question);
    return { era: "stateless", meta, ...readWelcome(answer) };
  }

  async function initialize(): Promise<Welcome> {
    const params = `{"protocolVersion":"${OWN_REVISION.stateful}","capabilities":${capabilities},"clientInfo":${info}}`;
    const answer = await session.ask({
      method: "initialize",
      params,
      era: "stateful",
      cursor: null,
      timeoutMs: greetMs,
    });
    const welcome = readWelcome(answer);
    if (welcome.isWelcome) say(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
    return welcome;
  }

  async function list({ era, meta, mayChange }: Greeting): Promise<CatalogueKeeper> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = changes;
      if (!session.catalogue(era).isComplete) await learner.fetch(era, meta);
      // Some servers add tools after they learn the client's capabilities, and send a notification. Other servers need
      // no wait.
      if (mayChange) await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      if (changes === before) break;
    }
    return catalogues[era];
  }

  function unlessItFails<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      fail = reject;
      void work.then(resolve, reject);
    });
  }

  return {
    receive(payload) {
      const message = openMessage(payload, "down", exchange.breaks);
      if (message.envelope.kind === "opaque") heard.banner ??= readBanner(message);
      else heard.messages++;
      const turn = session.observe(message, exchange);
      // Only clients send such requests, so the server is echoing our own.
      if (turn.trouble === "wrong-direction" && message.envelope.kind === "request")
        return fail?.(new Error("it sends back the messages that it receives"));
      if (turn.answers !== undefined) {
        session.calls.up.close(turn.answers);
        turn.answers.claim?.(message);
      } else {
        if (isListChange(message)) changes++;
        const answer = answerFor(message);
        if (answer !== null) say(answer);
      }
    },
    lost({ id, like }) {
      const call = id === null || like !== "answer" ? undefined : session.calls.up.find(id.key);
      if (call === undefined) return;
      session.calls.up.close(call);
      call.claim?.(null);
    },
    heard,
    greet: (how) => unlessItFails(greet(how)),
    listTools: (greeting) => unlessItFails(list(greeting)),
    ask: (question) => session.ask(question),
    askForNothing: ({ era, meta }) => unlessItFails(askForNothing(session, era, meta, listMs)),
    isWaiting: (call) => session.calls.up.find(call.id.key) === call,
  };
}

const now = (): number => performance.now();
const MAX_OPEN_CALLS = 100;
const QUIET_MS = 100;
const MAX_ROUNDS = 10;

type Welcome = Pick<Greeting, "isWelcome" | "mayChange" | "refusal">;

/**
 * Reads the response to a handshake. Tools, "Capabilities": `listChanged` says whether the server notifies of changes.
 */
function readWelcome(answer: Message): Welcome {
  const { bytes, envelope } = answer;
  if (envelope.kind !== "result") return { isWelcome: false, mayChange: false, refusal: describeError(answer) };
  const capabilities = findMember(bytes, envelope.result, "capabilities");
  const tools = capabilities === null ? null : findMember(bytes, capabilities, "tools");
  // Without a valid `tools` object, assume that the list may change.
  if (tools === null || bytes[tools.start] !== OPEN_OBJECT) return { isWelcome: true, mayChange: true, refusal: null };
  const listChanged = findMember(bytes, tools, "listChanged");
  const isSaid = listChanged !== null && bytes.toString("latin1", listChanged.start, listChanged.end) !== "false";
  return { isWelcome: true, mayChange: isSaid, refusal: null };
}

function isListChange({ envelope }: Message): boolean {
  return envelope.kind === "notification" && envelope.method.name === "notifications/tools/list_changed";
}

/** The response to a request from the server. */
function answerFor({ envelope }: Message): Buffer | null {
  if (envelope.kind !== "request") return null;
  switch (envelope.method.name) {
    case "ping":
      return composeResult(envelope.id, Buffer.from("{}"));
    case "roots/list":
      return composeResult(envelope.id, Buffer.from('{"roots":[]}'));
    default:
      return composeError(envelope.id, { code: -32601, message: "Method not found" });
  }
}
