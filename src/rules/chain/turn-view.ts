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
 * What rules see of one message. A class, because one is made for every message: what few rules ask for is found out when
 * they do, without a function of its own for each.
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
  /** What the one called itself whose request this answers. */
  asker: string | null = null;
  readonly #owner: SessionView;
  /** What the client calls itself in the params, once somebody has asked. */
  #claimed: string | null | undefined = undefined;

  constructor(kind: RuleView["kind"], direction: Direction, owner: SessionView, session: SessionFacts) {
    this.kind = kind;
    this.direction = direction;
    this.#owner = owner;
    this.session = session;
  }

  /** By the handshake; since 2026-07-28 a client says in each request who it is. */
  get client(): string | null {
    const { params } = this;
    const known = this.#owner.client() ?? this.asker;
    if (known !== null || params === null || params === undefined) return known;
    // Found out once: to look for it goes through all params.
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

  /** The same, as the rules of a list see one of its elements. */
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

/** What a client calls itself in a request, where it does. */
export function readClaimedClient(bytes: Buffer, params: Span | null): string | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : readClientName(bytes, findMember(bytes, meta, META_KEYS.clientInfo));
}
