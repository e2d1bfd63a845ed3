import { createTurns, type InTurn } from "../measure.ts";
import { nextId } from "../messages.ts";
import { openPeer, type Peer, type Place } from "../peer.ts";
import { killFamily } from "../processes.ts";
import { composeInitialize, INITIALIZED, openSession, type Session } from "./client.ts";
import type { Compose, Pair } from "./commands.ts";
import { openConnection } from "./connection.ts";
import { findPort, type Server, startServer } from "./server.ts";

/** What one round of a measure can use. */
export interface HttpStage {
  /** The measure's variants, as far as they are installed, and the other build if there is one. */
  readonly variants: readonly string[];
  readonly inTurn: InTurn;
  /** The command line of a variant that listens on a port. */
  command(pair: Pair, variant: string, port: number): readonly string[];
  /** Runs a command line and waits until it accepts connections. */
  start(command: readonly string[], port: number): Promise<Server>;
  /** Starts a variant. The bare server is already running. */
  open(pair: Pair, variant: string): Promise<Server>;
  /** Starts all variants with this many sessions each, calls `visit`, and ends them. */
  withAll(pair: Pair, sessions: number, visit: (served: ReadonlyMap<string, Served>) => Promise<void>): Promise<void>;
  /** Starts all variants that clients use by stdio, opens a session with each, calls `visit`, and ends them. */
  withPeers(visit: (peers: ReadonlyMap<string, Peer>) => Promise<void>): Promise<void>;
}

/** A running variant, and its clients' sessions. */
export interface Served {
  readonly server: Server;
  readonly sessions: readonly Session[];
}

/** Options of a stage. */
interface StageOptions {
  readonly variants: readonly string[];
  readonly commands: Readonly<Record<Pair, Readonly<Record<string, Compose>>>>;
  readonly origin: number;
  readonly place: Place;
  readonly random: () => number;
}

/** Makes the stage for a measure. */
export function createHttpStage({ variants, commands, origin, place, random }: StageOptions): HttpStage {
  const isThere = (variant: string): boolean => variant !== "nginx" || commands.http["nginx"] !== undefined;
  const direct: Server = { port: origin, pid: null, close: async () => {} };
  const stage: HttpStage = {
    variants: variants.filter(isThere),
    inTurn: createTurns(random),
    command: (pair, variant, port) => commands[pair][variant](port),
    start: (command, port) => startServer(command, port, place),
    async open(pair, variant) {
      if (variant === "direct") return direct;
      const port = await findPort();
      return stage.start(stage.command(pair, variant, port), port);
    },
    async withAll(pair, sessions, visit) {
      const served = new Map<string, Served>();
      await stage.inTurn(stage.variants, async (variant) => {
        const server = await stage.open(pair, variant);
        served.set(variant, { server, sessions: await openSessions(server.port, sessions) });
      });
      await visit(served);
      await Promise.all([...served.values()].map(({ server }) => server.close()));
    },
    async withPeers(visit) {
      const peers = new Map<string, Peer>();
      await stage.inTurn(stage.variants, async (variant) => {
        const peer = openPeer(stage.command("to-http", variant, 0), place);
        await peer.ask(`${composeInitialize(nextId())}\n`);
        await peer.tell(`${INITIALIZED}\n`);
        peers.set(variant, peer);
      });
      await visit(peers);
      for (const peer of peers.values()) {
        const closed = peer.close();
        killFamily(peer.pid);
        await closed;
      }
    },
  };
  return stage;
}

/** Opens this many sessions at a port, one after the other. */
export async function openSessions(port: number, count: number): Promise<Session[]> {
  const connection = await openConnection(port);
  const sessions: Session[] = [];
  while (sessions.length < count) sessions.push(await openSession(connection, port));
  connection.close();
  return sessions;
}
