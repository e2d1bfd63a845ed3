import type { Tree } from "./naive-json.ts";
import {
  type Answering,
  type Asking,
  foldNaively,
  mayBeSent,
  member,
  readIdNaively,
  readLine,
  stringAt,
} from "./profile.ts";

export type Direction = "up" | "down";

/** What should become of one line. */
export type Expected =
  /** It goes on, byte for byte. */
  | { readonly do: "pass" }
  /** It goes no further. `answers` is the key of the request that ends with it, where it was its answer. */
  | { readonly do: "refuse"; readonly why: string; readonly answers?: number | string }
  /** It goes on without some elements of its list. */
  | { readonly do: "filter"; readonly list: Tree; readonly hidden: readonly Tree[] }
  /** It waits for a list that we fetch. */
  | { readonly do: "wait"; readonly allowed: boolean }
  /** It goes on without the members that may not, and with errors in the place of answers that may not. */
  | { readonly do: "members"; readonly tree: Tree; readonly each: () => Iterable<Expected> };

interface OpenCall {
  readonly method: string;
  readonly plain: string;
  /** Undefined where it is there and is no text: then nobody knows which page it asks for. */
  readonly cursor: string | null | undefined;
  readonly era: Era;
  /** How often the list had changed when it was asked. */
  readonly version: number;
}

type Era = "stateful" | "stateless";

/** What is known of the tools in one era. `next` is the cursor after the last page, null at the end. */
interface Known {
  readonly tools: readonly string[];
  readonly next: string | null | undefined;
  readonly version: number;
  /** Whether the list may be answered from here: it has no time of its own, or some. The clock stands still. */
  readonly isFresh: boolean;
}

/** What the model is told of the world. */
export interface World {
  readonly denied: RegExp;
  readonly tools: readonly string[];
  readonly revision: string | null;
}

/** A conversation as the contract tells it, kept in the plainest way there is. */
export interface Model {
  /** What should become of this line; remembers what it opened, answered and changed. */
  expect(line: Buffer, direction: Direction): Expected;
  /** A request that went this way was ended with an error of ours. */
  end(key: number | string, direction: Direction): void;
  /** The requests that went this way and wait, by key. */
  waiting(direction: Direction): ReadonlyMap<number | string, { readonly plain: string; readonly method: string }>;
  /** Whether the same is expected of later lines as by the other. */
  isLike(other: Model): boolean;
  /** What it knows beside the open requests, to be compared. */
  readonly knowledge: readonly unknown[];
  /** Another model in the same place. */
  fork(): Model;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const MAX_BATCH = 100;
const PASS: Expected = { do: "pass" };
const NOTHING_KNOWN: Known = { tools: [], next: undefined, version: 0, isFresh: false };

interface State {
  readonly open: Record<Direction, Map<number | string, OpenCall>>;
  /** The ids of requests that were cancelled before they were answered. */
  readonly spent: Record<Direction, Set<number | string>>;
  readonly deniedFolds: Set<string>;
  readonly known: Record<Era, Known>;
  revision: string | null;
}

/** A model of a conversation with a tool filter. It knows no limits of size or number: the fuzzer stays below them. */
export function createModel({ denied, tools, revision }: World, from?: State): Model {
  const state: State = from ?? {
    open: { up: new Map(), down: new Map() },
    spent: { up: new Set(), down: new Set() },
    deniedFolds: new Set(tools.filter((name) => denied.test(name)).map(foldNaively)),
    known: { stateful: { ...NOTHING_KNOWN }, stateless: { ...NOTHING_KNOWN } },
    revision,
  };
  const { open, spent, deniedFolds, known } = state;
  const passing = new Set<number | string>(); // ids that are taken until the line is over

  function isHidden(name: string): boolean {
    return denied.test(name) || deniedFolds.has(foldNaively(name));
  }

  function ask(line: Buffer, asking: Asking, direction: Direction, inBatch: boolean): Expected {
    const { kind, id, method, params } = asking;
    if (!mayBeSent(method, direction, kind)) return { do: "refuse", why: "direction" };
    if (id === null) {
      if (method === "notifications/cancelled") cancel(line, member(params, "requestId"), direction);
      if (method !== "notifications/tools/list_changed") return PASS;
      for (const era of ERAS) known[era] = { ...NOTHING_KNOWN, version: known[era].version + 1 };
      return PASS;
    }
    if (open[direction].has(id.key)) return { do: "refuse", why: "duplicate-id" };
    if (spent[direction].has(id.key)) return { do: "refuse", why: "spent-id" };
    const era = member(member(params, "_meta") ?? null, VERSION_KEY) === undefined ? "stateful" : "stateless";
    const { version } = known[era];
    const cursor = method === "tools/list" ? cursorAt(line, member(params, "cursor")) : null;
    const expected = direction === "up" ? judge(asking, known[era], cursor, inBatch) : PASS;
    if (expected.do === "wait") known[era] = { tools, next: null, version, isFresh: true };
    // While it waits its id is taken, also by one that will be refused in the end.
    if (expected.do === "wait" && !expected.allowed) passing.add(id.key);
    if (expected.do === "pass" || expected.do === "wait")
      open[direction].set(id.key, { method, plain: id.plain, cursor, era, version });
    return expected;
  }

  function cancel(line: Buffer, given: Tree | undefined, direction: Direction): void {
    const id = given === undefined ? null : readIdNaively(line, given);
    if (id !== null && open[direction].delete(id.key)) spent[direction].add(id.key);
  }

  function judge({ method, subject }: Asking, list: Known, cursor: OpenCall["cursor"], inBatch: boolean): Expected {
    if (method === "tools/list" && cursor === null && list.next === null && !inBatch)
      return { do: "refuse", why: "from the cache" };
    if (method !== "tools/call") return PASS;
    if (subject === null) return { do: "refuse", why: "no name" };
    const isCertain =
      list.next === null || (foldNaively(subject) === subject && !new RegExp(denied, "i").test(subject));
    if (list.tools.includes(subject) && !isHidden(subject) && isCertain) return PASS;
    if (list.next !== null) return { do: "wait", allowed: tools.includes(subject) && !isHidden(subject) };
    return { do: "refuse", why: "tool" };
  }

  function answer(line: Buffer, { kind, id, body }: Answering, direction: Direction): Expected {
    if (id === null) return PASS; // an error of somebody who could not read us
    const table = open[direction === "up" ? "down" : "up"];
    const call = table.get(id.key);
    if (call === undefined) return { do: "refuse", why: "stray" };
    table.delete(id.key);
    if (call.plain !== id.plain) return { do: "refuse", why: "respelled", answers: id.key };
    if (direction === "up") return PASS;
    if (call.method === "tools/list")
      return kind === "result" ? filter(line, body, call, id.key) : lackOf(line, body, call);
    if (kind === "result" && (call.method === "initialize" || call.method === "server/discover")) {
      if (call.method === "initialize") state.revision = stringAt(line, member(body, "protocolVersion"));
      const capabilities = member(body, "capabilities");
      if (capabilities !== undefined && member(capabilities, "tools") === undefined)
        learnNone(call.method === "initialize" ? "stateful" : "stateless");
    }
    return PASS;
  }

  function learnNone(era: Era): void {
    known[era] = { tools: [], next: null, version: known[era].version, isFresh: true };
  }

  /** A server that does not know the method has no tools. */
  function lackOf(line: Buffer, error: Tree, { era }: OpenCall): Expected {
    const code = member(error, "code");
    if (code !== undefined && line.toString("latin1", code.start, code.end) === "-32601") learnNone(era);
    return PASS;
  }

  function filter(line: Buffer, result: Tree, call: OpenCall, key: number | string): Expected {
    const page = readPage(line, result);
    if (page === null) return { do: "refuse", why: "unreadable list", answers: key };
    for (const { name } of page) if (name !== null && denied.test(name)) deniedFolds.add(foldNaively(name));
    learn(line, result, call, page);
    const hidden = page.filter(({ name }) => name === null || isHidden(name)).map(({ tree }) => tree);
    const list = member(result, "tools");
    return hidden.length === 0 || list === undefined ? PASS : { do: "filter", list, hidden };
  }

  function learn(line: Buffer, result: Tree, { era, cursor, version }: OpenCall, page: readonly Entry[]): void {
    const list = known[era];
    if (version !== list.version || cursor === undefined || (cursor !== null && cursor !== list.next)) return;
    const names = page.flatMap(({ name }) => name ?? []);
    const next = stringAt(line, member(result, "nextCursor"));
    const time = member(result, "ttlMs");
    const isFresh = time === undefined || Number(line.toString("latin1", time.start, time.end)) > 0;
    if (cursor === null) known[era] = { tools: names, next, version, isFresh };
    else known[era] = { ...list, tools: [...list.tools, ...names], next };
  }

  function expect(line: Buffer, direction: Direction, inBatch = false): Expected {
    const reading = readLine(line);
    switch (reading.kind) {
      case "blank":
        return { do: "refuse", why: "blank" };
      case "refused":
        return { do: "refuse", why: reading.why };
      case "request":
      case "notification":
        return ask(line, reading, direction, inBatch);
      case "result":
      case "error":
        return answer(line, reading, direction);
      case "batch": {
        const { members, tree } = reading;
        if (inBatch || state.revision !== "2025-03-26" || members.length === 0 || members.length > MAX_BATCH)
          return { do: "refuse", why: "batch" };
        // One after the other, while they are examined: each may end what the next would answer.
        const each = function* (): Iterable<Expected> {
          for (const one of members) yield expect(one, direction, true);
        };
        return { do: "members", tree, each };
      }
    }
  }
  const model: Model = {
    expect(line, direction) {
      for (const key of passing) open.up.delete(key);
      passing.clear();
      return expect(line, direction);
    },
    end: (key, direction) => void open[direction].delete(key),
    waiting: (direction) => open[direction],
    isLike: (other) =>
      WAYS.every((way) => hasSameKeys(open[way], other.waiting(way))) &&
      model.knowledge.every((one, index) => one === other.knowledge[index]),
    get knowledge() {
      const lists = ERAS.flatMap((era) => Object.values(known[era]));
      return [...lists, deniedFolds.size, state.revision, spent.up.size, spent.down.size];
    },
    fork: () =>
      createModel(
        { denied, tools, revision },
        {
          open: { up: new Map(open.up), down: new Map(open.down) },
          spent: { up: new Set(spent.up), down: new Set(spent.down) },
          deniedFolds: new Set(deniedFolds),
          known: { stateful: { ...known.stateful }, stateless: { ...known.stateless } },
          revision: state.revision,
        },
      ),
  };
  return model;
}

const ERAS: readonly Era[] = ["stateful", "stateless"];
const WAYS: readonly Direction[] = ["up", "down"];

function hasSameKeys(one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>): boolean {
  return one.size === other.size && [...one.keys()].every((key) => other.has(key));
}

interface Entry {
  readonly tree: Tree;
  /** Null where it is no tool. */
  readonly name: string | null;
}

/** The entries of a tool list, null where it cannot be read in one way. */
function readPage(line: Buffer, result: Tree): Entry[] | null {
  const list = member(result, "tools");
  if (list?.kind !== "array" || hasVariant(result, ["tools", "nextCursor"])) return null;
  const cursor = member(result, "nextCursor");
  if (cursor !== undefined && cursor.kind !== "string" && line[cursor.start] !== "n".charCodeAt(0)) return null;
  const entries: Entry[] = [];
  for (const tree of list.elements) {
    if (tree.kind === "string" || tree.kind === "array") return null;
    if (tree.kind !== "object") {
      entries.push({ tree, name: null });
      continue;
    }
    if (hasVariant(tree, ["name", "inputSchema"])) return null;
    const name = stringAt(line, member(tree, "name"));
    const isTool = name !== null && name.length <= 1024 && name.isWellFormed();
    entries.push({ tree, name: isTool && member(tree, "inputSchema")?.kind === "object" ? name : null });
  }
  return entries;
}

function hasVariant(tree: Tree, keys: readonly string[]): boolean {
  return tree.members.some(
    ({ key }) => !keys.includes(key) && keys.some((known) => foldNaively(known) === foldNaively(key)),
  );
}

function cursorAt(line: Buffer, tree: Tree | undefined): OpenCall["cursor"] {
  if (tree === undefined || line.toString("latin1", tree.start, tree.end) === "null") return null;
  return stringAt(line, tree) ?? undefined;
}
