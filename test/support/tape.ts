import type { Tap, TapHead, TapSide, TapWay } from "../../src/wire/tap.ts";

/** What a tap saw of one connection. */
export interface Taped {
  readonly side: TapSide;
  readonly connection: string;
  readonly in: Buffer[];
  readonly out: Buffer[];
  readonly heads: { readonly way: TapWay; readonly head: TapHead }[];
  /** How often its end was told. */
  ends: number;
}

/** A tap that writes everything down. */
export interface Tape {
  readonly tap: Tap;
  /** By connection, in the order in which they were first heard of. */
  readonly connections: readonly Taped[];
  /** The bytes of one side and way, connection by connection: those without any are left out. */
  texts(side: TapSide, way: TapWay): string[];
}

/** Makes one. */
export function createTape(): Tape {
  const connections: Taped[] = [];
  const find = (side: TapSide, connection: string): Taped => {
    const known = connections.find((each) => each.side === side && each.connection === connection);
    if (known !== undefined) return known;
    const made: Taped = { side, connection, in: [], out: [], heads: [], ends: 0 };
    connections.push(made);
    return made;
  };
  return {
    connections,
    tap: {
      // A copy, as a recorder would write it away: what is changed later must not show.
      bytes: (side, way, connection, bytes) => void find(side, connection)[way].push(Buffer.from(bytes)),
      head: (side, way, connection, head) => void find(side, connection).heads.push({ way, head }),
      end: (side, connection) => void find(side, connection).ends++,
    },
    texts: (side, way) =>
      connections
        .filter((each) => each.side === side)
        .map((each) => Buffer.concat(each[way]).toString("latin1"))
        .filter((text) => text !== ""),
  };
}
