import { performance } from "node:perf_hooks";
import { composeError, composeResult } from "../message/compose.ts";
import { openMessage, type Message, type Payload, whole } from "../message/message.ts";
import { readBanner } from "../record/banner.ts";
import { askForNothing, createLearner } from "../relay/learn.ts";
import { type CatalogueKeeper, createCatalogues, type Refusal } from "../session/catalogue.ts";
import type { Era } from "../session/era.ts";
import type { Exchange } from "../session/exchange.ts";
import { createSession, type Session } from "../session/session.ts";

/** A client of our own: it greets a server and asks for its tools. */
export interface OwnClient {
  /** Takes a message from the server. */
  receive(payload: Payload): void;
  /** Greets the server: in one way, or in the one it understands. */
  greet(how: Era | "either"): Promise<Greeting>;
  /** Fetches its list until that is quiet. */
  listTools(greeting: Greeting): Promise<CatalogueKeeper>;
  /** Asks for a tool that it does not have. */
  askForNothing(greeting: Greeting): Promise<Refusal | null>;
  /** Whether we still wait for the answer to a request of ours. */
  isWaiting(about: Message): boolean;
  /** What has come so far: messages, and the first words that were none. */
  readonly heard: { readonly messages: number; readonly banner: string | null };
}

/** How a server wants to be spoken to. */
export interface Greeting {
  readonly era: Era;
  /** What every request says about its sender, where it has to: JSON text. */
  readonly meta: string | null;
  /** Whether the server agreed. */
  readonly isWelcome: boolean;
}

/** What a client of our own needs. */
export interface OwnClientOptions {
  /** Sends a message to the server. */
  readonly send: (payload: Buffer, about: Message) => void;
  /** How its messages come. */
  readonly exchange: Exchange;
  readonly greetMs: number;
  readonly listMs: number;
  readonly version: string;
}

/** Makes a client that says it can do what servers look for before they show all their tools. */
export function createOwnClient({ send, exchange, greetMs, listMs, version }: OwnClientOptions): OwnClient {
  let changes = 0;
  const heard = { messages: 0, banner: null as string | null };
  let fail: ((error: Error) => void) | undefined;
  const catalogues = createCatalogues(now);
  const session: Session = createSession({
    catalogues,
    maxOpenCalls: MAX_OPEN_CALLS,
    learnTools: true,
    say: (_, payload) => say(payload),
    now,
  });
  const learner = createLearner({ session, timeoutMs: listMs });
  const info = JSON.stringify({ name: "fairlead", version });
  const capabilities = '{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}';

  function say(payload: Buffer): void {
    send(payload, openMessage(whole(payload), "up", "refuse"));
  }

  async function greet(how: Era | "either"): Promise<Greeting> {
    if (how !== "stateless") {
      const isWelcome = await initialize();
      if (isWelcome || how === "stateful") return { era: "stateful", meta: null, isWelcome };
    }
    // A server that knows no handshake any more: every request says who asks.
    const prefix = "io.modelcontextprotocol";
    const meta = `{"${prefix}/protocolVersion":"2026-07-28","${prefix}/clientInfo":${info},"${prefix}/clientCapabilities":${capabilities}}`;
    const params = `{"_meta":${meta}}`;
    const question = { method: "server/discover", params, era: "stateless", cursor: null, timeoutMs: greetMs } as const;
    const answer = await session.ask(question);
    return { era: "stateless", meta, isWelcome: answer.envelope.kind === "result" };
  }

  async function initialize(): Promise<boolean> {
    const params = `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":${info}}`;
    const answer = await session.ask({
      method: "initialize",
      params,
      era: "stateful",
      cursor: null,
      timeoutMs: greetMs,
    });
    if (answer.envelope.kind !== "result") return false;
    say(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
    return true;
  }

  async function list({ era, meta }: Greeting): Promise<CatalogueKeeper> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = changes;
      if (!session.catalogue(era).isComplete) await learner.fetch(era, meta);
      // Some servers add tools once they know what the client can do, and say so.
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
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
      // Only a client sends such requests: it is our own.
      if (turn.trouble === "wrong-direction" && message.envelope.kind === "request")
        return fail?.(new Error("it sends back what it is told"));
      if (turn.answers !== undefined) {
        session.calls.up.close(turn.answers);
        turn.answers.claim?.(message);
      } else {
        if (isListChange(message)) changes++;
        const answer = answerFor(message);
        if (answer !== null) say(answer);
      }
    },
    heard,
    greet: (how) => unlessItFails(greet(how)),
    listTools: (greeting) => unlessItFails(list(greeting)),
    askForNothing: ({ era, meta }) => unlessItFails(askForNothing(session, era, meta, listMs)),
    isWaiting: ({ envelope }) => envelope.kind === "request" && session.calls.up.find(envelope.id.key) !== undefined,
  };
}

const now = (): number => performance.now();
const MAX_OPEN_CALLS = 100;
const QUIET_MS = 100;
const MAX_ROUNDS = 10;

function isListChange({ envelope }: Message): boolean {
  return envelope.kind === "notification" && envelope.method.name === "notifications/tools/list_changed";
}

/** What we say to a server that asks us something. */
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
