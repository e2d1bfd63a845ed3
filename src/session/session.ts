import { randomBytes } from "node:crypto";
import { composeRequest } from "../message/compose.ts";
import type {
  ErrorEnvelope,
  NotificationEnvelope,
  RequestEnvelope,
  ResultEnvelope,
  Span,
} from "../message/envelope.ts";
import { isSameId, readId, type Id } from "../message/id.ts";
import { keyMeant } from "../message/meant.ts";
import { findMember, readString } from "../message/members.ts";
import { type Direction, type Message, opposite } from "../message/message.ts";
import { describeMethod, maySend } from "../message/methods.ts";
import { createNameReader } from "../message/names.ts";
import { timeOfArrival } from "./arrival.ts";
import { isBatch } from "./batch.ts";
import { type CallTable, createCallTable, keepSubject } from "./calls.ts";
import { type Call, createCall } from "./call.ts";
import { type Catalogue, type CatalogueKeeper, createCatalogues } from "./catalogue.ts";
import { allowsBatches, type Era } from "../message/protocol.ts";
import { findClaim } from "./era.ts";
import type { Exchange } from "./exchange.ts";
import { disagrees } from "./mirrored.ts";
import { type ClientInfo, type Owner, readClientInfo } from "./owner.ts";
import type { Question } from "./question.ts";
import { type ClientTransport, type ServerId, type SessionView, UNNAMED_SERVER } from "./session-view.ts";
import { isNotFound, readCursor, readToolPage } from "./tool-page.ts";
import { beginTurn, type Turn, type TurnDraft } from "./turn.ts";

/** One conversation between one client and one server. */
export interface Session extends SessionView {
  mcpSession: string | null;
  catalogue(era: Era): CatalogueKeeper;
  readonly calls: Readonly<Record<Direction, CallTable>>;
  /** The server gave the session an id: from now on rules keep their state under this key. */
  adopt(scope: string): void;
  /** Whether the handshake of the stateful era is complete. */
  hasBegun(): boolean;
  now(): number;
  /** Finds out what a message means in the conversation. Changes no state except what is learnt from the message. */
  observe(message: Message, exchange: Exchange): Turn;
  /** The open call that a response with this key, in this direction, belongs to, if this stream may answer it. */
  callFor(key: number | string, direction: Direction, exchange: Exchange): Call | undefined;
  /**
   * The call that a message was meant to answer, for a message that is not forwarded. Undefined if that is not known.
   */
  callMeant(message: Message, exchange: Exchange): Call | undefined;
  /** Sends a message of the proxy's own. */
  say(direction: Direction, payload: Buffer): void;
  /** Sends a request of the proxy's own to the server. The response is not forwarded to the client. */
  ask(question: Question): Promise<Message>;
}

/** Options of a session. */
export interface SessionOptions {
  /** The name of the session in the log; random by default. */
  readonly id?: string;
  /** Who the client is, if one client may have several sessions. */
  readonly owner?: Owner;
  /** The server of the session, and the transport of its client, which is stdio by default. */
  readonly server?: ServerId | undefined;
  readonly transport?: ClientTransport | undefined;
  readonly maxOpenCalls: number;
  /** Called once, when no more ids of abandoned calls can be remembered. The session must end then. */
  readonly onExhausted?: () => void;
  /** The catalogues, if sessions share them. */
  readonly catalogues?: Readonly<Record<Era, CatalogueKeeper>>;
  /** Whether a complete tool list is kept for good, even if the server says that it changed. */
  readonly keepsTools?: boolean;
  /** Whether tools are learnt from the lists that pass. */
  readonly learnsTools: () => boolean;
  /** Whether the era of every request has to be known. */
  readonly readsEras?: () => boolean;
  /** Called whenever the complete tool list has been learnt, the first time and again. */
  readonly onLearnt?: (catalogue: Catalogue) => void;
  /** Called when the handshake of the stateful era is complete: client and revision are known. */
  readonly onIntroduced?: () => void;
  /** Sends a message of the proxy's own. */
  readonly say: (direction: Direction, payload: Buffer) => void;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

/** Starts a session. */
export function createSession(options: SessionOptions): Session {
  const { maxOpenCalls, onExhausted, learnsTools, readsEras = () => false, onLearnt = () => {}, say, now } = options;
  const id = options.id ?? randomBytes(8).toString("hex");
  const calls = { up: createCallTable(maxOpenCalls, onExhausted), down: createCallTable(maxOpenCalls, onExhausted) };
  const catalogues = options.catalogues ?? createCatalogues(now, options.keepsTools);
  let revision: string | null = null; // that the handshake agreed on, once it has
  let client: ClientInfo | null = null;
  let asked = 0;

  let isAdopted = false;

  const session: Session & { scope: string } = {
    id,
    scope: options.owner?.scope ?? id,
    identity: options.owner?.identity ?? null,
    server: options.server ?? UNNAMED_SERVER,
    transport: options.transport ?? "stdio",
    audience: () => (isAdopted ? id : (options.owner?.audience ?? id)),
    adopt(scope) {
      isAdopted = true;
      session.scope = scope;
    },
    client: () => client?.name ?? null,
    clientInfo: () => client,
    mcpSession: null,
    revision: () => revision,
    hasBegun: () => revision !== null,
    calls,
    now,
    say,
    catalogue: (era) => catalogues[era],
    callFor(key, direction, { answerable, resumed }) {
      const table = calls[opposite(direction)];
      if (answerable === null) return table.find(key);
      const call = answerable.find(({ id: asked }) => asked.key === key);
      // A resumed stream may repeat a response. It is judged again, as the response to the call it belongs to.
      return call !== undefined && (resumed || table.find(key) === call) ? call : undefined;
    },
    callMeant(message, exchange) {
      const key = keyMeant(message);
      const call = key === undefined ? undefined : session.callFor(key, message.direction, exchange);
      return call === undefined || call.parked ? undefined : call;
    },
    observe(message, exchange) {
      const turn = beginTurn(session, message, exchange);
      const { envelope, direction } = message;
      switch (envelope.kind) {
        case "request":
          observeRequest(turn, envelope);
          break;
        case "notification":
          observeNotification(turn, envelope);
          break;
        case "result":
        case "error":
          observeAnswer(turn, envelope);
          break;
        case "batch":
          if (exchange.isMember === true || !allowsBatches(revision) || !isBatch(message)) turn.trouble = "batch";
          break;
        case "opaque":
          turn.answers = session.callMeant(message, exchange);
          if (turn.answers !== undefined) turn.trouble = "unreadable-answer";
          else turn.isIdTaken = envelope.id !== null && calls[direction].find(envelope.id.key) !== undefined;
      }
      return turn;
    },
    ask(question) {
      const { method, params, timeoutMs } = question;
      const spelled = `fairlead-${id}-${++asked}`;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          calls.up.close(call);
          reject(new Error(`no answer to ${method} within ${Math.round(timeoutMs)} ms`));
        }, timeoutMs);
        timer.unref();
        const call = ownCall({ key: spelled, quoted: JSON.stringify(spelled) }, question, (answer) => {
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

  function observeRequest(turn: TurnDraft, envelope: RequestEnvelope): void {
    const { direction } = turn.message;
    const table = calls[direction];
    if (table.find(envelope.id.key) !== undefined) {
      turn.trouble = "duplicate-id";
      turn.isIdTaken = true;
    } else if (table.isSpent(envelope.id.key)) turn.trouble = "spent-id";
    else if (!maySend(envelope.method.sender, direction)) turn.trouble = "wrong-direction";
    else if (envelope.method.form === "notification") turn.trouble = "notification-with-id";
    else if (table.isFull()) turn.trouble = "too-many-calls";
    else {
      const { meta } = envelope;
      const version = meta !== null && needsEra(turn, envelope) ? findClaim(turn.message.bytes, meta) : null;
      if (disagrees(turn, envelope, version, catalogues.stateless)) turn.trouble = "header-mismatch";
      else turn.opens = openCall(turn, envelope, version === null ? "stateful" : "stateless");
      if (envelope.method.name === "initialize" && envelope.params !== null)
        client = readClientInfo(turn.message.bytes, findMember(turn.message.bytes, envelope.params, "clientInfo"));
    }
  }

  function needsEra({ exchange }: TurnDraft, { method: { name } }: RequestEnvelope): boolean {
    return exchange.routed || readsEras() || (learnsTools() && (name === "tools/list" || name === "tools/call"));
  }

  function observeAnswer(turn: TurnDraft, envelope: ResultEnvelope | ErrorEnvelope): void {
    const { direction } = turn.message;
    if (envelope.id === null) {
      turn.remark = "error-without-id";
      return;
    }
    const call = session.callFor(envelope.id.key, direction, turn.exchange);
    if (call === undefined || call.parked) {
      turn.trouble = "stray-answer";
      return;
    }
    turn.answers = call;
    if (!isSameId(envelope.id, call.id)) turn.trouble = "respelled-id";
    else if (direction === "down" && isLearntFrom(call.method.name)) learn(turn, envelope, call);
  }

  function openCall({ message: { bytes } }: TurnDraft, envelope: RequestEnvelope, era: Era): Call {
    const { id: callId, method, params, subject } = envelope;
    const isList = method.name === "tools/list";
    const about = subject === null ? null : keepSubject(names.read(bytes, subject));
    const cursor = isList && params !== null && learnsTools() ? readCursor(bytes, params) : null;
    const version = isList ? catalogues[era].listVersion : 0;
    return createCall(callId, method, about, cursor, era, timeOfArrival(bytes, now), version, null);
  }

  function ownCall(callId: Id, { method: name, era, cursor }: Question, claim: Call["claim"]): Call {
    const method = describeMethod(name);
    if (method === null) throw new Error(`no method: ${name}`);
    return createCall(callId, method, null, cursor, era, now(), catalogues[era].listVersion, claim);
  }

  function observeNotification(turn: TurnDraft, envelope: NotificationEnvelope): void {
    const { method, params } = envelope;
    const { bytes, direction } = turn.message;
    if (method.form === "request") turn.trouble = "request-without-id";
    else if (!maySend(method.sender, direction)) turn.trouble = "wrong-direction";
    else if (disagrees(turn, envelope, null, catalogues.stateless)) turn.trouble = "header-mismatch";
    else if (method.name === "notifications/cancelled") {
      const given = params === null ? null : findMember(bytes, params, "requestId");
      const key = given === null ? undefined : readId(bytes, given.start, given.end)?.key;
      turn.refersTo = key === undefined ? undefined : calls[direction].find(key);
      if (turn.refersTo === undefined) turn.remark = "unknown-cancel";
    } else if (method.name === "notifications/tools/list_changed") {
      catalogues.stateful.forget();
      catalogues.stateless.forget();
    }
  }

  /** Learns from a response what it says about the server. */
  function learn(turn: TurnDraft, envelope: ResultEnvelope | ErrorEnvelope, call: Call): void {
    const { bytes } = turn.message;
    if (call.method.name !== "tools/list") {
      if (envelope.kind === "result") greet(turn, envelope.result, call);
      return;
    }
    if (!learnsTools()) return;
    const catalogue = catalogues[call.era];
    if (envelope.kind === "error") {
      // A server without tools may not implement the method.
      if (call.cursor === null && isNotFound(bytes, envelope.error)) catalogue.learnNone("refused");
      return;
    }
    const page = readToolPage(bytes, envelope.result);
    turn.list = page ?? "unreadable";
    if (page === undefined) return;
    const before = catalogue.version;
    catalogue.learn(bytes, page, call.cursor, call.listVersion);
    if (catalogue.isComplete && catalogue.version !== before) onLearnt(catalogue);
  }

  /** Learns what a server says about itself in the result of `initialize` or `server/discover`. */
  function greet(turn: TurnDraft, result: Span, call: Call): void {
    const { bytes } = turn.message;
    const isHandshake = call.method.name === "initialize";
    if (isHandshake) {
      revision = readString(bytes, findMember(bytes, result, "protocolVersion"));
      if (revision !== null) options.onIntroduced?.();
    }
    const capabilities = findMember(bytes, result, "capabilities");
    if (capabilities !== null && findMember(bytes, capabilities, "tools") === null) {
      catalogues[isHandshake ? "stateful" : "stateless"].learnNone("not-declared");
    }
    const instructions = readString(bytes, findMember(bytes, result, "instructions"));
    if (instructions !== null && instructions !== "") turn.remark = "instructions";
  }
}

// Shared by all sessions, because there are not many tool names.
const names = createNameReader();

/** Whether the session learns from the responses to a method. */
function isLearntFrom(method: string): boolean {
  return method === "tools/list" || method === "initialize" || method === "server/discover";
}
