import { splitCommand } from "./split-command.ts";
import { headers, url, variables } from "./addresses.ts";
import { headOf, list, map } from "./collections.ts";
import { WRONG } from "./page.ts";
import type { UpstreamSettings } from "./settings.ts";
import { optional, refine, type Shape } from "./shape.ts";
import { choice, text } from "./values.ts";

/** The words of a command. They are not split further, because no shell is involved. */
const WORDS = list(text({ what: "a word" }), { min: 1 });
const COMMAND: Shape<readonly string[]> = {
  ...WORDS,
  read(node, page) {
    const written = node.kind === "scalar" && typeof node.value === "string" ? splitCommand(node.value) : null;
    if (written !== null)
      return page.wrong(node, "wrong-type", "command must be a list of words, not text", `Write ${showWords(written)}`);
    const words = WORDS.read(node, page);
    // The path of a program may contain spaces.
    const split = words === WRONG || words.length > 1 || /[\\/]/.test(words[0]) ? null : splitCommand(words[0]);
    if (split !== null && node.kind === "list") {
      const message = "The program has spaces in its name: there is no shell that splits it";
      page.warn(node.item(0), "wrong-value", message, `Write ${showWords(split)}`);
    }
    return words;
  },
};

/** Formats words as a YAML list, with quotes where they are needed. */
function showWords(words: readonly string[]): string {
  return `[${words.map((word) => (/^[\w./~][\w./@~+-]*$|^-[\w-]+$/.test(word) ? word : JSON.stringify(word))).join(", ")}]`;
}

/** The suggestion for arguments that are written under a key of their own. */
export const ARGUMENTS = "Put them behind the program: upstream: { command: [npx, -y, some-server] }";

const UPSTREAM_KEYS = map(
  {
    url: optional(url(), "The server's URL. ${VAR} stands for a variable of the environment.", null),
    command: optional(COMMAND, "The server's program and its arguments.", null),
    headers: optional(
      headers(),
      "Sent to the server at the URL. ${VAR} stands for a variable of the environment.",
      null,
    ),
    env: optional(variables(), "Additional environment variables for the program.", null),
    cwd: optional(text({ what: "a directory" }), "The directory in which the program starts.", null),
    on_loss: optional(choice(["exit", "keep"]), "What happens when the server is lost.", null),
  },
  undefined,
  {
    args: ARGUMENTS,
    type: "Remove it: Fairlead uses stdin and stdout for a command, and HTTP for a URL",
    transport: "Remove it: Fairlead uses stdin and stdout for a command, and HTTP for a URL",
  },
);

/** The server: a program, or a URL. */
export const UPSTREAM: Shape<UpstreamSettings> = refine(UPSTREAM_KEYS, (said, node, page) => {
  const keyOf = (name: string) =>
    node.kind === "map" ? (node.entries.find((entry) => entry.name === name) ?? headOf(node)) : node;
  const { url, command } = said;
  if (url !== null && command !== null) {
    return page.wrong(keyOf("command"), "wrong-value", "A server is a command or a URL, not both", "Take one out");
  }
  if (url === null && command === null) {
    return page.wrong(
      keyOf(""),
      "missing-key",
      "upstream has neither url nor command",
      "Add url: http://localhost:3000/mcp, or command: [npx, some-server]",
    );
  }
  const strange = url !== null ? (["env", "cwd"] as const) : (["headers", "on_loss"] as const);
  for (const name of strange) {
    if (said[name === "on_loss" ? "onLoss" : name] === null) continue;
    const owner = url === null ? "url" : "command";
    return page.wrong(keyOf(name), "wrong-value", `${name} needs ${owner}, which is missing`, "Take it out");
  }
  if (url !== null) return { kind: "url", url, headers: said.headers ?? new Map(), onLoss: said.onLoss };
  return { kind: "command", command: command ?? [], env: said.env ?? new Map(), cwd: said.cwd };
});
