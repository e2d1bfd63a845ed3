import { composeList, nextId } from "./messages.ts";
import { openPeer, type Peer, type Place } from "./peer.ts";
import { shuffled } from "./statistics.ts";
import type { Commands, Variant } from "./variants.ts";

/** Something that is measured, one round at a time. */
export interface Measure<On = Stage> {
  readonly name: string;
  readonly variants: readonly string[];
  /** Measures every variant once and notes what it finds. The variants take turns in an order that changes. */
  round(stage: On, note: Note): Promise<void>;
}

/** Takes one value of one round. */
export type Note = (quantity: string, variant: string, value: number) => void;

/** What a round has to work with. */
export interface Stage {
  /** The measure's variants, and the other build where there is one. */
  readonly variants: readonly Variant[];
  /** Starts a variant, without waiting for anything. */
  start(variant: Variant): Peer;
  /** Starts a variant and waits until it has answered a first `tools/list`. */
  open(variant: Variant): Promise<Peer>;
  readonly inTurn: InTurn;
  /** Starts all variants, does something with them, and ends them. */
  withAll(visit: (peers: ReadonlyMap<Variant, Peer>) => Promise<void>): Promise<void>;
}

/** Does something with each of these, one after the other, in an order of chance. */
export type InTurn = <Thing>(things: Iterable<Thing>, visit: (thing: Thing) => Promise<void>) => Promise<void>;

/** Takes turns in an order of this chance. */
export function createTurns(random: () => number): InTurn {
  return async (things, visit) => {
    for (const thing of shuffled([...things], random)) await visit(thing);
  };
}

/** Sets the stage for a measure. */
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
