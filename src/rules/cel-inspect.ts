import type { ASTNode } from "@marcbachmann/cel-js";

/** What `inspect` found in an expression. */
export interface Inspection {
  /** All identifiers except names of functions and members. */
  readonly names: ReadonlySet<string>;
  /** How deep loops over lists are nested. */
  readonly loops: number;
  /** The number of nodes in the source. A node inside a loop counts once. */
  readonly nodes: number;
  /** Whether it calls `split`, which makes lists out of strings. */
  readonly splits: boolean;
  /** The patterns of all `matches` calls. Null for a pattern that is not a string literal. */
  readonly matches: readonly { readonly pattern: string | null; readonly at: number }[];
}

/**
 * Walks over an expression that is parsed but not yet type-checked. Renames calls of `matches` to `matchesAs`, and
 * makes every loop call `onRound` before each iteration with the number of nodes in the loop body. If `onRound` throws,
 * the evaluation ends.
 */
export function inspect(expression: ASTNode, matchesAs: string, onRound: (nodes: number) => void): Inspection {
  const names = new Set<string>();
  const matches: { pattern: string | null; at: number }[] = [];
  let splits = false;
  let count = 0;

  /** Returns how deep loops are nested in a node. */
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
 * Hooks into the condition that a loop evaluates before each iteration. An error thrown there ends all enclosing loops.
 * An error thrown inside an iteration would be caught by `all` and `exists`, which then try the other elements.
 */
function watchRounds(loop: ASTNode, nodes: number, onRound: (nodes: number) => void): void {
  const { alternate } = (loop as unknown as { meta: { alternate?: { op: string; args: LoopArguments } } }).meta;
  if (alternate?.op !== "comprehension") return; // a `bind`, which does not loop
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
