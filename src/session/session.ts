import { randomBytes } from "node:crypto";
import { composeRequest } from "../message/compose.ts";
import type {
  ErrorEnvelope,
  NotificationEnvelope,
  OpaqueEnvelope,
  RequestEnvelope,
  ResultEnvelope,
  Span,
} from "../message/envelope.ts";
import { guessKey, isSameId, readId, type Id } from "../message/id.ts";
import { findMember, listElements, readString } from "../message/members.ts";
import { type Direction, type Message, opposite } from "../message/message.ts";
import { describeMethod } from "../message/methods.ts";
import { isText } from "../message/text.ts";
import { type Call, type CallTable, createCallTable } from "./calls.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";
import { type Era, eraOf } from "./era.ts";
import type { Exchange } from "./exchange.ts";
import { readToolPage } from "./tool-page.ts";
import type { Trouble, Turn } from "./turn.ts";

/** What policy may see of a session. */
export interface SessionView {
  readonly id: string;
  /** The revision the handshake settled on, once it has. */
  readonly revision: string | null;
  catalogue(era: Era): Catalogue;
}

/** One conversation between one client and one server. */
export interface Session extends SessionView {
  readonly calls: Readonly<Record<Direction, CallTable>>;
  now(): number;
  /** Puts a message in its place in the conversation. Changes nothing but what is learnt from it. */
  observe(message: Message, exchange: Exchange): Turn;
  /** Sends a message of our own. */
  say(direction: Direction, payload: Buffer): void;
  /** Asks the server something of our own. The answer does not reach the client. */
  ask(question: Question): Promise<Message>;
}

/** A request of our own. */
export interface Question {
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  readonly era: Era;
  /** The cursor in the params, where it asks for a page of a list. */
  readonly cursor: string | null;
  readonly timeoutMs: number;
}

/** How a session is made. */
export interface SessionOptions {
  readonly maxOpenCalls: number;
  /** Whether tool lists are looked into as they pass. */
  readonly learnTools: boolean;
  /** Told when the whole tool list has been learnt, or learnt anew. */
  readonly onLearnt?: (catalogue: Catalogue) => void;
  /** Sends a message of our own. */
  readonly say: (direction: Direction, payload: Buffer) => void;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

/** Begins a conversation. */
export function createSession(options: SessionOptions): Session {
  const { maxOpenCalls, learnTools, onLearnt = () => {}, say, now } = options;
  const id = randomBytes(8).toString("hex");
  const calls = { up: createCallTable(maxOpenCalls, now), down: createCallTable(maxOpenCalls, now) };
  const catalogues = { stateful: createCatalogue(now), stateless: createCatalogue(now) };
  let revision: string | null = null;
  let asked = 0;

  const session: Session = {
    id,
    calls,
    now,
    say,
    get revision() {
      return revision;
    },
    catalogue: (era) => catalogues[era],
    observe(message, exchange) {
      const { envelope, direction } = message;
      switch (envelope.kind) {
        case "request":
          return observeRequest(message, envelope, exchange);
        case "notification":
          return observeNotification(message, envelope, exchange);
        case "result":
        case "error": {
          const call = envelope.id === null ? undefined : calls[opposite(direction)].find(envelope.id.key);
          if (envelope.id === null) return turn(message, exchange, null, { remark: "error-without-id" });
          if (call === undefined || call.parked) return turn(message, exchange, "stray-answer");
          if (!isSameId(envelope.id, call.id)) {
            return turn(message, exchange, "respelled-id", { answers: call });
          }
          return turn(
            message,
            exchange,
            null,
            direction === "down" ? learn(message, envelope, call) : { answers: call },
          );
        }
        case "batch":
          // Streamable HTTP 2025-03-26 brought batches, 2025-06-18 took them away again.
          return turn(message, exchange, revision === "2025-03-26" && isBatch(message) ? null : "batch");
        case "opaque": {
          const call = meant(message, envelope);
          if (call !== undefined) return turn(message, exchange, "unreadable-answer", { answers: call });
          const isIdTaken = envelope.id !== null && calls[direction].find(envelope.id.key) !== undefined;
          return turn(message, exchange, null, { isIdTaken });
        }
      }
    },
    ask(question) {
      const { method, params, timeoutMs } = question;
      const spelled = `fairlead-${id}-${++asked}`;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          calls.up.close(call);
          reject(new Error(`no answer to ${method} within ${timeoutMs} ms`));
        }, timeoutMs);
        timer.unref();
        const call = ownCall({ key: spelled, spelled: JSON.stringify(spelled) }, question, (answer) => {
          clearTimeout(timer);
          if (answer === null) reject(new Error(`the answer to ${method} was too large, or could not be read`));
          else resolve(answer);
        });
        calls.up.open(call);
        say("up", composeRequest(spelled, method, params));
      });
    },
  };
  return session;

  function turn(
    message: Message,
    exchange: Exchange,
    trouble: Trouble | null,
    { answers, opens, refersTo, list = null, isIdTaken = false, remark = null }: Relations = ALONE,
  ): Turn {
    return { session, message, exchange, answers, opens, refersTo, list, isIdTaken, trouble, remark };
  }

  function observeRequest(message: Message, envelope: RequestEnvelope, exchange: Exchange): Turn {
    const { direction } = message;
    const table = calls[direction];
    if (table.find(envelope.id.key) !== undefined) return turn(message, exchange, "duplicate-id", TAKEN);
    if (!maySend(envelope.method.sender, direction)) return turn(message, exchange, "wrong-direction");
    if (table.size >= maxOpenCalls) return turn(message, exchange, "too-many-calls");
    return turn(message, exchange, null, { opens: openCall(message, envelope) });
  }

  function openCall({ bytes }: Message, { id: callId, method, params, subject }: RequestEnvelope): Call {
    const isList = learnTools && method.name === "tools/list";
    const era = isList || (learnTools && method.name === "tools/call") ? eraOf(bytes, params) : "stateful";
    return {
      id: callId,
      method,
      subject: readString(bytes, subject),
      cursor: isList && params !== null ? readCursor(bytes, params) : null,
      era,
      since: now(),
      listVersion: catalogues[era].listVersion,
      claim: null,
      parked: false,
    };
  }

  function ownCall(callId: Id, { method: name, era, cursor }: Question, claim: Call["claim"]): Call {
    const method = describeMethod(name);
    if (method === null) throw new Error(`no method: ${name}`);
    const listVersion = catalogues[era].listVersion;
    return { id: callId, method, subject: null, cursor, era, since: now(), listVersion, claim, parked: false };
  }

  function observeNotification(message: Message, envelope: NotificationEnvelope, exchange: Exchange): Turn {
    const { method, params } = envelope;
    if (method.form === "request") return turn(message, exchange, "request-without-id");
    if (!maySend(method.sender, message.direction)) return turn(message, exchange, "wrong-direction");
    if (method.name === "notifications/cancelled" && params !== null) {
      const given = findMember(message.bytes, params, "requestId");
      const key = given === null ? undefined : readId(message.bytes, given.start, given.end)?.key;
      const call = key === undefined ? undefined : calls[message.direction].find(key);
      return turn(message, exchange, null, call === undefined ? { remark: "unknown-cancel" } : { refersTo: call });
    }
    if (method.name === "notifications/tools/list_changed") {
      catalogues.stateful.forget();
      catalogues.stateless.forget();
    }
    return turn(message, exchange, null);
  }

  /** What an answer tells about the server, and what belongs to it: the call, and the tool list where those are looked into. */
  function learn({ bytes }: Message, envelope: ResultEnvelope | ErrorEnvelope, call: Call): Relations {
    const name = call.method.name;
    if (name === "initialize" || name === "server/discover") {
      return envelope.kind === "error" ? { answers: call } : greet(bytes, envelope.result, call);
    }
    if (name !== "tools/list" || !learnTools) return { answers: call };
    const catalogue = catalogues[call.era];
    if (envelope.kind === "error") {
      // A server without tools may not know the method either.
      if (call.cursor === null && isNotFound(bytes, envelope.error)) catalogue.learnNone();
      return { answers: call };
    }
    const page = readToolPage(bytes, envelope.result);
    if (page === undefined) return { answers: call, list: "unreadable" };
    const before = catalogue.version;
    catalogue.learn(bytes, page, call.cursor, call.listVersion);
    if (catalogue.isComplete && catalogue.version !== before) onLearnt(catalogue);
    return { answers: call, list: page };
  }

  /** What a server says about itself when it is first spoken to. */
  function greet(bytes: Buffer, result: Span, call: Call): Relations {
    const isHandshake = call.method.name === "initialize";
    if (isHandshake) revision = readString(bytes, findMember(bytes, result, "protocolVersion"));
    const capabilities = findMember(bytes, result, "capabilities");
    if (capabilities !== null && findMember(bytes, capabilities, "tools") === null) {
      catalogues[isHandshake ? "stateful" : "stateless"].learnNone();
    }
    const instructions = readString(bytes, findMember(bytes, result, "instructions"));
    return { answers: call, remark: instructions === null || instructions === "" ? null : "instructions" };
  }

  /** The call an unreadable message was meant to answer, as far as that can be told. */
  function meant(message: Message, envelope: OpaqueEnvelope): Call | undefined {
    if (envelope.like !== "answer") return undefined;
    const { oddId } = envelope;
    const key = envelope.id?.key ?? (oddId === null ? undefined : guessKey(message.bytes, oddId.start, oddId.end));
    const call = key === undefined ? undefined : calls[opposite(message.direction)].find(key);
    return call === undefined || call.parked ? undefined : call;
  }
}

/** What else belongs to a turn. */
interface Relations {
  readonly answers?: Call | undefined;
  readonly opens?: Call | undefined;
  readonly refersTo?: Call | undefined;
  readonly list?: Turn["list"];
  readonly isIdTaken?: boolean;
  readonly remark?: Turn["remark"];
}

const ALONE: Relations = {};
const TAKEN: Relations = { isIdTaken: true };

/** A batch with more members is refused, and so is an empty one. */
const MAX_BATCH = 100;

function isBatch({ bytes, start, end }: Message): boolean {
  const { length } = listElements(bytes, { start: bytes.indexOf("[", start), end });
  return length > 0 && length <= MAX_BATCH;
}

/** Null where there is none, undefined where it is no text. */
function readCursor(bytes: Buffer, params: Span): string | null | undefined {
  const cursor = findMember(bytes, params, "cursor");
  if (cursor === null || isText(bytes, cursor.start, cursor.end, "null")) return null;
  return readString(bytes, cursor) ?? undefined;
}

function isNotFound(bytes: Buffer, error: Span): boolean {
  const code = findMember(bytes, error, "code");
  return code !== null && isText(bytes, code.start, code.end, "-32601");
}

function maySend(sender: "client" | "server" | "both", direction: Direction): boolean {
  return sender === "both" || (sender === "client") === (direction === "up");
}
