import { readLeniently, type Tree } from "./naive-json.ts";
import { foldNaively, stringAt } from "./profile.ts";

// How the most careless peers read: a line ends at CR too, keys are matched without regard to case
// and to what does not show, any of several members with one key may be the one that counts, and
// structures may be given by position.

/** Whether some careless server would run this tool because of this line. */
export function wouldRun(line: Buffer, isDenied: (name: string) => boolean): boolean {
  return messagesIn(line).some(({ bytes, tree }) => {
    const calls = all(tree, "method").some((method) => foldNaively(stringAt(bytes, method) ?? "") === "tools/call");
    return calls && all(tree, "params").some((params) => named(bytes, params).some(isDenied));
  });
}

/** Whether some careless client would see this tool in this line, taken for the answer to one of these requests. */
export function wouldShow(line: Buffer, ids: readonly number[], isDenied: (name: string) => boolean): boolean {
  return messagesIn(line).some(({ bytes, tree }) => {
    const answers = all(tree, "id").some((id) => ids.includes(coerce(bytes, id)));
    const lists = all(tree, "result").flatMap((result) => all(result, "tools"));
    const shows = lists.some((list) => list.elements.some((tool) => named(bytes, tool).some(isDenied)));
    return answers && shows;
  });
}

interface Found {
  readonly bytes: Buffer;
  readonly tree: Tree;
}

function messagesIn(line: Buffer): Found[] {
  const pieces = line.includes(0x0d) ? [line, ...splitAtCr(line)] : [line];
  return pieces.flatMap((bytes) => {
    const tree = readLeniently(bytes);
    return tree === null ? [] : flatten(tree).map((one) => ({ bytes, tree: one }));
  });
}

function splitAtCr(line: Buffer): Buffer[] {
  return line
    .toString("latin1")
    .split("\r")
    .map((piece) => Buffer.from(piece, "latin1"));
}

function flatten(tree: Tree): Tree[] {
  return tree.kind === "array" ? tree.elements.flatMap(flatten) : [tree];
}

/** All members that might be taken for this one, in either order. */
function all(tree: Tree, key: string): Tree[] {
  return tree.members.filter((member) => foldNaively(member.key) === key).map(({ value }) => value);
}

/** The names a thing might be taken to have. */
function named(bytes: Buffer, tree: Tree): string[] {
  const candidates = tree.kind === "array" ? tree.elements.slice(0, 1) : all(tree, "name");
  return candidates
    .flatMap((one) => (one.kind === "array" ? one.elements : [one]))
    .flatMap((one) => stringAt(bytes, one) ?? []);
}

function coerce(bytes: Buffer, id: Tree): number {
  return Number(stringAt(bytes, id) ?? bytes.toString("latin1", id.start, id.end));
}
