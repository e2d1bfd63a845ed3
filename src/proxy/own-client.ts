import { performance } from "node:perf_hooks";
import { composeError, composeResult } from "../message/compose.ts";
import { openMessage, type Message, type Payload } from "../message/message.ts";
import { readBanner } from "../record/banner.ts";
import { createLearner } from "../relay/learn.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { Era } from "../session/era.ts";
import { LINES } from "../session/exchange.ts";
import { createSession, type Session } from "../session/session.ts";

/** A client of our own: it greets a server and asks for its tools. */
export interface OwnClient {
  /** Takes a message from the server. */
  receive(payload: Payload): void;
  /** Greets the server in the way it understands, and fetches its list until that is quiet. */
  listTools(): Promise<Catalogue>;
  /** What has come so far: messages, and the first words that were none. */
  readonly heard: { readonly messages: number; readonly banner: string | null };
}

/** What a client of our own needs. */
export interface OwnClientOptions {
  /** Sends a message to the server. */
  readonly send: (payload: Buffer) => void;
  readonly timeoutMs: number;
  readonly version: string;
}

/** Makes a client that says it can do what servers look for before they show all their tools. */
export function createOwnClient({ send, timeoutMs, version }: OwnClientOptions): OwnClient {
  let changes = 0;
  const heard = { messages: 0, banner: null as string | null };
  let fail: ((error: Error) => void) | undefined;
  const session: Session = createSession({
    maxOpenCalls: MAX_OPEN_CALLS,
    learnTools: true,
    say: (_, payload) => send(payload),
    now: () => performance.now(),
  });
  const learner = createLearner({ session, timeoutMs });
  const info = JSON.stringify({ name: "fairlead", version });
  const capabilities = '{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}';

  async function greet(): Promise<{ era: Era; meta: string | null }> {
    const params = `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":${info}}`;
    const answer = await session.ask({ method: "initialize", params, era: "stateful", cursor: null, timeoutMs });
    if (answer.envelope.kind === "result") {
      send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
      return { era: "stateful", meta: null };
    }
    // A server that knows no handshake any more: every request says who asks.
    const prefix = "io.modelcontextprotocol";
    const meta = `{"${prefix}/protocolVersion":"2026-07-28","${prefix}/clientInfo":${info},"${prefix}/clientCapabilities":${capabilities}}`;
    return { era: "stateless", meta };
  }

  async function list(): Promise<Catalogue> {
    const { era, meta } = await greet();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = changes;
      if (!session.catalogue(era).isComplete) await learner.fetch(era, meta);
      // Some servers add tools once they know what the client can do, and say so.
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      if (changes === before) break;
    }
    return session.catalogue(era);
  }

  return {
    receive(payload) {
      const message = openMessage(payload, "down", LINES.breaks);
      if (message.envelope.kind === "opaque") heard.banner ??= readBanner(message);
      else heard.messages++;
      const turn = session.observe(message, LINES);
      // Only a client sends such requests: it is our own.
      if (turn.trouble === "wrong-direction" && message.envelope.kind === "request")
        return fail?.(new Error("it sends back what it is told"));
      if (turn.answers !== undefined) {
        session.calls.up.close(turn.answers);
        turn.answers.claim?.(message);
      } else {
        if (isListChange(message)) changes++;
        const answer = answerFor(message);
        if (answer !== null) send(answer);
      }
    },
    heard,
    listTools: () =>
      new Promise((resolve, reject) => {
        fail = reject;
        void list().then(resolve, reject);
      }),
  };
}

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
