import type { ASTNode } from "@marcbachmann/cel-js";

/** What an expression is made of. */
export interface Inspection {
  /** All names that are not the names of functions or members. */
  readonly names: ReadonlySet<string>;
  /** How many loops through lists are inside one another. */
  readonly loops: number;
  /** How many nodes it has: what is written once is counted once. */
  readonly nodes: number;
  /** Whether it makes lists out of texts. */
  readonly splits: boolean;
  /** The patterns in it. Null for one that is not written out. */
  readonly matches: readonly { readonly pattern: string | null; readonly at: number }[];
}

/**
 * Goes through an expression that has been parsed and not yet checked. Calls of `matches` are given another name, and
 * `onRound` is called in every round of every loop, with the number of nodes in what is repeated. What it throws ends the
 * evaluation.
 */
export function inspect(expression: ASTNode, matchesAs: string, onRound: (nodes: number) => void): Inspection {
  const names = new Set<string>();
  const matches: { pattern: string | null; at: number }[] = [];
  let splits = false;
  let count = 0;

  /** How deep loops are nested in a node. */
  function visit(node: ASTNode): number {
    count++;
    switch (node.op) {
      case "id":
        names.add(node.args);
        return 0;
      case "value":
        return 0;
      case "rcall": {
        const [name, receiver, args] = node.args;
        if (name === "matches") {
          (node.args as [string, ...unknown[]])[0] = matchesAs;
          matches.push({ pattern: literal(args[0]), at: node.pos });
        }
        if (name === "split") splits = true;
        const before = count;
        const inside = most(args);
        if (LOOPS.has(name)) watchRounds(node, count - before, onRound);
        return Math.max(visit(receiver), LOOPS.has(name) ? inside + 1 : inside);
      }
      case "call":
        return most(node.args[1]);
      case "map":
        return most(node.args.flat());
      case "list":
        return most(node.args);
      case ".":
      case ".?":
        return visit(node.args[0]);
      case "!_":
      case "-_":
        return visit(node.args);
      case "[]":
      case "[?]":
      case "?:":
      case "||":
      case "&&":
      case "in":
      case "==":
      case "!=":
      case "<":
      case "<=":
      case ">":
      case ">=":
      case "+":
      case "-":
      case "*":
      case "/":
      case "%":
        return most(node.args);
    }
  }

  function most(nodes: readonly ASTNode[]): number {
    return nodes.reduce((deepest, node) => Math.max(deepest, visit(node)), 0);
  }

  return { loops: visit(expression), nodes: count, names, matches, splits };
}

/**
 * A loop asks before each round whether it goes on. What that question throws ends all loops around it, while what is
 * thrown in a round is kept by `all` and `exists`, which try the others.
 */
function watchRounds(loop: ASTNode, nodes: number, onRound: (nodes: number) => void): void {
  const { alternate } = (loop as unknown as { meta: { alternate?: { op: string; args: LoopArguments } } }).meta;
  if (alternate?.op !== "comprehension") return; // a `bind`, which has no rounds
  const { condition } = alternate.args;
  alternate.args.condition = (soFar) => {
    onRound(nodes);
    return condition === undefined || condition(soFar);
  };
}

interface LoopArguments {
  condition?: (soFar: unknown) => boolean;
}

const LOOPS = new Set(["all", "exists", "exists_one", "map", "filter", "bind"]);

function literal(node: ASTNode | undefined): string | null {
  return node?.op === "value" && typeof node.args === "string" ? node.args : null;
}
