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

/** One session, and the passage that judges its messages. */
export interface Seat {
  readonly session: Session;
  readonly passage: Passage;
}

/** Sends a message that the proxy composed. */
export type Say = Parameters<typeof createSession>[0]["say"];

/** The known tools of a server, and the learner that fetches them. */
export interface Knowledge {
  readonly catalogues: Readonly<Record<Era, CatalogueKeeper>>;
  readonly learner: Learner;
}

/** Options that all sessions share. */
export interface SeatOptions {
  readonly rulebook: Rulebook;
  readonly witness: Witness;
  /** The server of all these sessions. */
  readonly server?: ServerId;
  readonly maxOpenCalls: number;
  readonly maxParkedBytes: number;
  readonly maxDepth?: number | undefined;
  readonly toolListMs: number;
  /** Whether a complete tool list stays valid for good. */
  readonly keepsTools?: boolean;
  /** The catalogues that all sessions share; without them each session keeps its own. */
  readonly catalogues?: Readonly<Record<Era, CatalogueKeeper>>;
  readonly onLearnt: (catalogue: Catalogue) => void;
  readonly now: () => number;
}

/** Options of one session. */
export interface SeatParts {
  /** The known tools of the server; null if the session has to learn them itself. */
  readonly known?: Knowledge | null;
  readonly owner?: Owner | undefined;
  /** The client's transport; stdio by default. */
  readonly transport?: ClientTransport;
  /** Called to end the session because too many of its calls were cancelled or given up. */
  readonly onExhausted?: () => void;
}

/** Makes a session with its passage. */
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

/** Whether calls of hidden and unknown tools are answered with the server's own error for unknown tools. */
export function mirrorsServer({ tools }: Policy): boolean {
  return tools?.notFound === "upstream";
}
