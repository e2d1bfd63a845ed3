import { composeList, nextId } from "./messages.ts";
import { openPeer, type Peer, type Place } from "./peer.ts";
import { shuffled } from "./statistics.ts";
import type { Commands, Variant } from "./variants.ts";

/** A measurement, one round at a time. */
export interface Measure<On = Stage> {
  readonly name: string;
  readonly variants: readonly string[];
  /** Measures every variant once and records the values. The variants take turns in an order that changes. */
  round(stage: On, note: Note): Promise<void>;
}

/** Records one value of one round. */
export type Note = (quantity: string, variant: string, value: number) => void;

/** What one round of a measure can use. */
export interface Stage {
  /** The measure's variants, and the other build if there is one. */
  readonly variants: readonly Variant[];
  /** Starts a variant without waiting for anything. */
  start(variant: Variant): Peer;
  /** Starts a variant and waits until it has answered a first `tools/list`. */
  open(variant: Variant): Promise<Peer>;
  readonly inTurn: InTurn;
  /** Starts all variants, calls `visit`, and ends them. */
  withAll(visit: (peers: ReadonlyMap<Variant, Peer>) => Promise<void>): Promise<void>;
}

/** Visits each of these, one after the other, in random order. */
export type InTurn = <Thing>(things: Iterable<Thing>, visit: (thing: Thing) => Promise<void>) => Promise<void>;

/** Makes an `InTurn` with this random generator. */
export function createTurns(random: () => number): InTurn {
  return async (things, visit) => {
    for (const thing of shuffled([...things], random)) await visit(thing);
  };
}

/** Makes the stage for a measure. */
export function createStage(
  variants: readonly Variant[],
  commands: Commands,
  place: Place,
  random: () => number,
): Stage {
  const stage: Stage = {
    variants,
    start: (variant) => openPeer(commands[variant], place),
    async open(variant) {
      const peer = stage.start(variant);
      await peer.ask(composeList(nextId()));
      return peer;
    },
    inTurn: createTurns(random),
    async withAll(visit) {
      const peers = new Map<Variant, Peer>();
      await stage.inTurn(variants, async (variant) => {
        peers.set(variant, await stage.open(variant));
      });
      await visit(peers);
      await Promise.all([...peers.values()].map((peer) => peer.close()));
    },
  };
  return stage;
}
