import type { Command } from "./command-line.ts";
import { CHILD, CONFIG, FILTER, HELP, LISTEN, LOG, OBSERVE, PIN, REMOTE } from "./option-sets.ts";

const EXIT_CODES = [
  "Exit codes:",
  "  0   the client closed the connection",
  "  n   the server exited by itself with exit code n, which is not 0, before or",
  "      after the client closed",
  "  1   anything else: a mistake in the command line, a signal, a server that",
  "      could not be started or was lost",
];

const ENVIRONMENT = [
  "Environment:",
  "  NO_COLOR            if not empty, print no colours",
  "  FORCE_COLOR         1: colours even without a terminal; 0: no colours",
  "  FAIRLEAD_AUDIT_KEY  the file with the key for audit logs",
  "  XDG_STATE_HOME      the directory for that key (by default) and for logins",
];

const SHOWN_OR_NOT = ["Exit codes:", "  0   success", "  1   a mistake in the command line, or an internal error"];

/** All commands, the proxy first. */
export const COMMANDS: readonly Command[] = [
  {
    name: "",
    usage: [
      "fairlead [options] -- <command> [args…]",
      "fairlead [options] --upstream <url>",
      "fairlead [options] --config <file>",
    ],
    summary: "put Fairlead in front of an MCP server: a command, or a URL",
    takes: "server",
    options: [
      ...FILTER,
      CONFIG,
      OBSERVE,
      PIN,
      ...CHILD,
      ...REMOTE,
      ...LISTEN,
      {
        name: "audit",
        value: "<file>",
        help: "append an audit record for each judged message to this file (JSON Lines)",
      },
      {
        name: "audit-level",
        value: "<level>",
        choices: ["default", "all"],
        help: "how much is recorded; all also records routine messages that pass, and how long responses took",
        needs: "audit",
      },
      ...LOG,
      HELP,
      { name: "version", value: null, help: "show the version" },
    ],
    notes: [...EXIT_CODES, "", ...ENVIRONMENT],
  },
  {
    name: "tools",
    usage: [
      "fairlead tools [options] -- <command> [args…]",
      "fairlead tools [options] --upstream <url>",
      "fairlead tools [options] --config <file>",
    ],
    summary:
      "list a server's tools: which are shown, which are hidden, and how many tokens each adds to a model's context",
    takes: "server",
    options: [
      ...FILTER,
      CONFIG,
      { ...PIN, help: "the lock file to compare with: which tools are new, changed or renamed" },
      {
        name: "accept",
        value: "[name…]",
        takesWords: true,
        help: "write the current definitions of these tools, or of all tools, to the lock file (fairlead.lock)",
      },
      ...CHILD.filter(({ name }) => name !== "tools-timeout"),
      {
        name: "tools-timeout",
        value: "<time>",
        help: "how long the listing may take; by default, a server command has 5m while it is busy, and 10s while it is idle",
      },
      ...REMOTE,
      {
        name: "format",
        value: "<format>",
        choices: ["table", "full", "names", "json"],
        help: "a table, a table with descriptions, only the names of the tools that are shown, or JSON",
        fallback: "full on a terminal, otherwise table",
      },
      ...LOG,
      HELP,
    ],
    notes: [
      "Exit codes:",
      "  0   listed; with --accept, also written to the lock file",
      "  1   a mistake in the command line, a server that could not be started, a list",
      "      that could not be fetched, a lock file that cannot be read or written",
      "  2   listed, but with --pin: a tool is new, has changed or was renamed",
    ],
  },
  {
    name: "check",
    usage: [
      "fairlead check [options] [file]",
      "fairlead check [options] [file] -- <command> [args…]",
      "fairlead check [options] [file] --upstream <url>",
      "fairlead check --schema",
    ],
    summary: "find all mistakes in a policy file; with a server, also compare the file with the server's tools",
    takes: "words",
    options: [
      ...CHILD,
      ...REMOTE,
      {
        name: "format",
        value: "<format>",
        choices: ["text", "json"],
        help: "the output format",
        fallback: "text",
      },
      { name: "schema", value: null, help: "print the JSON Schema of policy files, for editors" },
      HELP,
    ],
    notes: [
      "Without a file argument, it checks fairlead.yaml in the current directory. It",
      "starts no server unless you name one. Then it asks the server for its tools, and",
      "warns about tools and arguments in the file that the server does not have.",
      "",
      "Exit codes:",
      "  0   no mistakes; there may be warnings",
      "  1   mistakes, each with its line and a suggestion; a file that cannot be read;",
      "      a server that cannot be reached",
    ],
  },
  {
    name: "explain",
    usage: [
      "fairlead explain [options] --tool <name> [--args '<json>']",
      "fairlead explain [options] --message '<json>'",
    ],
    summary: "explain what a policy does with a message: which rule, which condition, which value",
    takes: "words",
    options: [
      { name: "tool", value: "<name>", help: "explain a call of this tool" },
      { name: "args", value: "<json>", help: "the arguments of that call, a JSON object; - reads it from stdin" },
      { name: "message", value: "<json>", help: "explain this JSON-RPC message; - reads it from stdin" },
      { name: "config", value: "<file>", help: "the policy file", fallback: "fairlead.yaml" },
      { name: "request", value: "<json>", help: "the request, if the message is a response" },
      {
        name: "direction",
        value: "<direction>",
        choices: ["up", "down"],
        help: "up is from the client, down is from the server; by default down for responses, up for everything else",
      },
      { name: "client", value: "<name>", help: "the name of the client, as it reports it" },
      { name: "identity", value: "<name>", help: "the authenticated identity of the client" },
      {
        name: "format",
        value: "<format>",
        choices: ["text", "json"],
        help: "the output format",
        fallback: "text",
      },
      HELP,
    ],
    notes: [
      "It starts no process, asks no webhook and sends nothing.",
      "",
      "Exit codes:",
      "  0   explained, whether or not the message would pass",
      "  1   a mistake in the command line or in the policy file",
    ],
  },
  {
    name: "audit",
    usage: ["fairlead audit verify [--key <file>] <file>…"],
    summary: "check that nothing was removed from or changed in an audit log",
    takes: "words",
    options: [
      { name: "key", value: "<file>", help: "the key that the log was written with, if it is not the default key" },
      HELP,
    ],
    notes: [
      "If the log was rotated, give all of its files, the oldest first.",
      "",
      "Exit codes:",
      "  0   all records are present and unchanged",
      "  1   something was removed, changed, cut or forged: each finding with its line",
      "  2   not verified: no audit log, no key, or a mistake in the command line",
    ],
  },
  {
    name: "demo",
    usage: ["fairlead demo"],
    summary: "show what passes, what is hidden and what is refused, with a small built-in server",
    takes: "nothing",
    options: [HELP],
    notes: SHOWN_OR_NOT,
  },
  {
    name: "demo-server",
    usage: ["fairlead demo-server"],
    summary: "the small server of the demo",
    takes: "nothing",
    options: [HELP],
    notes: [],
    isHidden: true,
  },
  {
    name: "help",
    usage: ["fairlead help [command]"],
    summary: "show the help of a command",
    takes: "words",
    options: [HELP],
    notes: SHOWN_OR_NOT,
  },
  {
    name: "version",
    usage: ["fairlead version"],
    summary: "show the version",
    takes: "nothing",
    options: [HELP],
    notes: SHOWN_OR_NOT,
  },
];

/** The command with this name. */
export function findCommand(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}
