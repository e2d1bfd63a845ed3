import type { ASTNode } from "@marcbachmann/cel-js";

/** What an expression is made of. */
export interface Inspection {
  /** All names that are not the names of functions or members. */
  readonly names: ReadonlySet<string>;
  /** How many loops through lists are inside one another. */
  readonly loops: number;
  /** Whether it makes lists out of texts. */
  readonly splits: boolean;
  /** The patterns in it. Null for one that is not written out. */
  readonly matches: readonly { readonly pattern: string | null; readonly at: number }[];
}

/** Goes through an expression that has been parsed and not yet checked. Calls of `matches` are given another name. */
export function inspect(expression: ASTNode, matchesAs: string): Inspection {
  const names = new Set<string>();
  const matches: { pattern: string | null; at: number }[] = [];
  let splits = false;

  /** How deep loops are nested in a node. */
  function visit(node: ASTNode): number {
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
        const inside = most(args);
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

  return { loops: visit(expression), names, matches, splits };
}

const LOOPS = new Set(["all", "exists", "exists_one", "map", "filter", "bind"]);

function literal(node: ASTNode | undefined): string | null {
  return node?.op === "value" && typeof node.args === "string" ? node.args : null;
}
