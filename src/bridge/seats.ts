import type { Policy } from "../policy/judge.ts";
import type { Witness } from "../record/witness.ts";
import { createLearner, type Learner } from "../relay/learn.ts";
import type { Rulebook } from "../relay/decide.ts";
import { createPassage, type Passage } from "../relay/passage.ts";
import type { Catalogue, CatalogueKeeper } from "../session/catalogue.ts";
import type { Era } from "../message/protocol.ts";
import type { Owner } from "../session/owner.ts";
import { createSession, type Session } from "../session/session.ts";
import type { ClientTransport, ServerId } from "../session/session-view.ts";

/** One conversation and the way its messages go. */
export interface Seat {
  readonly session: Session;
  readonly passage: Passage;
}

/** Sends a message of our own in a conversation. */
export type Say = Parameters<typeof createSession>[0]["say"];

/** What is known of a server's tools, and how to find out. */
export interface Knowledge {
  readonly catalogues: Readonly<Record<Era, CatalogueKeeper>>;
  readonly learner: Learner;
}

/** What all conversations have in common. */
export interface SeatOptions {
  readonly rulebook: Rulebook;
  readonly witness: Witness;
  /** The server that all of them are with. */
  readonly server?: ServerId;
  readonly maxOpenCalls: number;
  readonly maxParkedBytes: number;
  readonly maxDepth?: number | undefined;
  readonly toolListMs: number;
  /** Whether a list that is whole holds for good. */
  readonly keepsTools?: boolean;
  /** What all of them know of the server's tools, where they learn it from each other. */
  readonly catalogues?: Readonly<Record<Era, CatalogueKeeper>>;
  readonly onLearnt: (catalogue: Catalogue) => void;
  readonly now: () => number;
}

/** What one conversation has of its own. */
export interface SeatParts {
  /** What is known of the server's tools; null where the conversation learns that itself. */
  readonly known?: Knowledge | null;
  readonly owner?: Owner | undefined;
  /** How its client comes; on stdin, unless said otherwise. */
  readonly transport?: ClientTransport;
  /** Ends the conversation, because too many of its calls were cancelled or given up. */
  readonly onExhausted?: () => void;
}

/** Makes a conversation. */
export function createSeat(options: SeatOptions, say: Say, parts: SeatParts = {}): Seat {
  const { known = null, owner = NOBODY, onExhausted = () => {} } = parts;
  const { rulebook, witness, maxParkedBytes, maxDepth, keepsTools = false } = options;
  const catalogues = known?.catalogues ?? options.catalogues;
  const session: Session = createSession({
    maxOpenCalls: options.maxOpenCalls,
    onExhausted() {
      witness.trouble("session:exhausted", "ended a session: too many of its requests were cancelled or given up");
      onExhausted();
    },
    server: options.server,
    transport: parts.transport,
    onIntroduced: () => witness.introduced(session),
    owner,
    learnsTools: () => rulebook.current.policy.tools !== null || rulebook.current.policy.results != null,
    readsEras: () => rulebook.current.policy.results != null,
    onLearnt: options.onLearnt,
    say,
    now: options.now,
    keepsTools,
    ...(catalogues === undefined ? {} : { catalogues }),
  });
  const mirrors = (): boolean => mirrorsServer(rulebook.current.policy);
  const learner = known === null ? createLearner({ session, timeoutMs: options.toolListMs, mirrors }) : known.learner;
  return { session, passage: createPassage({ session, rulebook, learner, witness, maxParkedBytes, maxDepth }) };
}

const NOBODY: Owner = { identity: null, scope: null, audience: null };

/** Whether calls of hidden and unknown tools are answered as the server itself would. */
export function mirrorsServer({ tools }: Policy): boolean {
  return tools?.notFound === "upstream";
}
