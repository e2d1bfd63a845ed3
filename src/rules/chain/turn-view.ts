import type { Span } from "../../message/envelope.ts";
import { META_KEYS } from "../../message/protocol.ts";
import type { Direction } from "../../message/message.ts";
import { findMember } from "../../message/members.ts";
import type { Part } from "../fields.ts";
import type { RuleView } from "../view.ts";
import type { SessionFacts } from "../../store/session-facts.ts";
import { readClientName } from "../../session/owner.ts";
import type { ServerId, SessionView } from "../../session/session-view.ts";

/**
 * What rules see of one message. It is a class because one is created for every message: rarely used values are
 * computed by getters, without a closure for each.
 */
export class View implements RuleView {
  readonly kind: RuleView["kind"];
  readonly direction: Direction;
  readonly session: SessionFacts;
  method: string | null = null;
  params: Part | null | undefined = null;
  result: Part | null = null;
  error: Part | null = null;
  tool: string | null | undefined = null;
  /** The name that the client gave itself in the request that this message responds to. */
  asker: string | null = null;
  readonly #owner: SessionView;
  /** The client name in the params; undefined until it is first needed. */
  #claimed: string | null | undefined = undefined;

  constructor(kind: RuleView["kind"], direction: Direction, owner: SessionView, session: SessionFacts) {
    this.kind = kind;
    this.direction = direction;
    this.#owner = owner;
    this.session = session;
  }

  /** The client name from the handshake. Since 2026-07-28, a client names itself in each request instead. */
  get client(): string | null {
    const { params } = this;
    const known = this.#owner.client() ?? this.asker;
    if (known !== null || params === null || params === undefined) return known;
    // Read once, because the search walks over all params.
    if (this.#claimed === undefined) this.#claimed = readClaimedClient(params.bytes, params);
    return this.#claimed;
  }

  get identity(): string | null {
    return this.#owner.identity;
  }

  get server(): ServerId {
    return this.#owner.server;
  }

  get mcpSession(): string | null {
    return this.#owner.mcpSession;
  }

  sessionIds(): readonly string[] {
    const { id, mcpSession } = this.#owner;
    return mcpSession === null ? [this.session.id, id] : [this.session.id, id, mcpSession];
  }

  /** The view of one element of a list. */
  ofElement(tool: string | null, element: Part): View {
    const view = new View(this.kind, this.direction, this.#owner, this.session);
    view.method = this.method;
    view.params = this.params;
    view.result = element;
    view.tool = tool;
    view.asker = this.asker ?? this.client;
    return view;
  }
}

/** The name that a client gives itself in a request, or null. */
export function readClaimedClient(bytes: Buffer, params: Span | null): string | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : readClientName(bytes, findMember(bytes, meta, META_KEYS.clientInfo));
}
