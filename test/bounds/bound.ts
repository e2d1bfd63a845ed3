/** A test that goes to the bound, and past it: the file below `test`, and a part of the test's name. */
export type Tested = readonly [file: string, title: string];

/** Something that can grow. */
export interface Bound {
  /** Where it is enforced, below `src`. */
  readonly file: string;
  readonly name: string;
  readonly value: number;
  /** What is bounded, with its unit first: "bytes of one message". */
  readonly what: string;
  /** What happens to what is over it. */
  readonly past: string;
  readonly tested: Tested | null;
}

/** A constant that bounds nothing that a peer could make grow. */
export interface Plain {
  readonly file: string;
  readonly name: string;
  readonly value: number;
}

/** A limit that a policy file or the library can set. */
export interface Setting {
  /** In the library's `limits`. */
  readonly key: string;
  /** In a policy file. */
  readonly setting: string;
  readonly value: number;
  readonly what: string;
  readonly past: string;
  readonly tested: Tested | null;
}

/** Kilobytes and megabytes. */
export const K = 1024;
export const M = 1024 * 1024;

/** A line of the table. */
export function bound(file: string, name: string, value: number, what: string, past: string, tested?: Tested): Bound {
  return { file, name, value, what, past, tested: tested ?? null };
}

/** A line for a constant that bounds nothing that a peer could make grow. */
export function plain(file: string, name: string, value: number): Plain {
  return { file, name, value };
}

/** A test of `edges.test.ts`, or of `edges-values.test.ts`. */
export function edge(title: string, part: "" | "-values" = ""): Tested {
  return [`bounds/edges${part}.test.ts`, title];
}
