import type { Command } from "./command-line.ts";
import { CHILD, CONFIG, FILTER, HELP, LISTEN, LOG, OBSERVE, PIN, REMOTE } from "./option-sets.ts";

const EXIT_CODES = [
  "Exit codes:",
  "  0   the client closed the conversation",
  "  n   the server ended by itself with exit code n, which is not 0; also after",
  "      the client closed",
  "  1   anything else: a mistake in the command line, a signal, a server that",
  "      could not be started or was lost",
];

const ENVIRONMENT = [
  "Environment:",
  "  NO_COLOR            not empty: no colours",
  "  FORCE_COLOR         1 for colours also where there is no terminal, 0 for none",
  "  FAIRLEAD_AUDIT_KEY  the file with the key of audit logs",
  "  XDG_STATE_HOME      where that key and logins are kept otherwise",
];

const SHOWN_OR_NOT = ["Exit codes:", "  0   it was shown", "  1   a mistake in the command line, or a fault of ours"];

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
      { name: "audit", value: "<file>", help: "append a record of what was judged to this file (JSON Lines)" },
      {
        name: "audit-level",
        value: "<level>",
        choices: ["default", "all"],
        help: "how much is recorded; all adds what simply passes, and the latency of answers",
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
    summary: "list a server's tools: which stay, which would be hidden, what each costs a model's context",
    takes: "server",
    options: [
      ...FILTER,
      CONFIG,
      { ...PIN, help: "the lock file to compare with: which tools are new, changed or renamed" },
      {
        name: "accept",
        value: "[name…]",
        takesWords: true,
        help: "remember these tools as they are now, or all of them, in the lock file (fairlead.lock)",
      },
      ...CHILD.filter(({ name }) => name !== "tools-timeout"),
      {
        name: "tools-timeout",
        value: "<time>",
        help: "how long all of it may take; without it, a server that is started here has 5m while it works, and 10s while it does nothing",
      },
      ...REMOTE,
      {
        name: "format",
        value: "<format>",
        choices: ["table", "full", "names", "json"],
        help: "a table, the same with what each tool says of itself, only the names that stay, or JSON",
        fallback: "full on a terminal, else table",
      },
      ...LOG,
      HELP,
    ],
    notes: [
      "Exit codes:",
      "  0   listed; with --accept, also remembered",
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
    summary: "find all mistakes in a policy file; with a server, also what does not fit its tools",
    takes: "words",
    options: [
      ...CHILD,
      ...REMOTE,
      {
        name: "format",
        value: "<format>",
        choices: ["text", "json"],
        help: "for people, or for programs",
        fallback: "text",
      },
      { name: "schema", value: null, help: "print the JSON Schema of policy files, for editors" },
      HELP,
    ],
    notes: [
      "Without a file it is fairlead.yaml, here. Nothing is started, unless a server",
      "is named: then it is asked for its tools, and what the file says of tools and",
      "arguments that it does not have are warnings.",
      "",
      "Exit codes:",
      "  0   no mistakes; there may be warnings",
      "  1   mistakes, each with its place and what to do; a file that cannot be read;",
      "      a server that cannot be asked",
    ],
  },
  {
    name: "explain",
    usage: [
      "fairlead explain [options] --tool <name> [--args '<json>']",
      "fairlead explain [options] --message '<json>'",
    ],
    summary: "say what a policy makes of a message: which rule, which condition, which value",
    takes: "words",
    options: [
      { name: "tool", value: "<name>", help: "a call of this tool, as the message" },
      { name: "args", value: "<json>", help: "the arguments of that call, an object; - for one on stdin" },
      { name: "message", value: "<json>", help: "the message, whatever it is; - for one on stdin" },
      { name: "config", value: "<file>", help: "the policy file", fallback: "fairlead.yaml" },
      { name: "request", value: "<json>", help: "the request that it answers, where it is an answer" },
      {
        name: "direction",
        value: "<direction>",
        choices: ["up", "down"],
        help: "up from the client, down from the server; up, unless it is an answer",
      },
      { name: "client", value: "<name>", help: "what the client calls itself" },
      { name: "identity", value: "<name>", help: "who the client is" },
      {
        name: "format",
        value: "<format>",
        choices: ["text", "json"],
        help: "for people, or for programs",
        fallback: "text",
      },
      HELP,
    ],
    notes: [
      "Nothing is started, nobody is asked and nothing is sent.",
      "",
      "Exit codes:",
      "  0   it was explained, whatever becomes of the message",
      "  1   a mistake in the command line or in the policy file",
    ],
  },
  {
    name: "audit",
    usage: ["fairlead audit verify [--key <file>] <file>…"],
    summary: "check that nothing was removed from or changed in an audit log",
    takes: "words",
    options: [{ name: "key", value: "<file>", help: "the key the log was written with, if not your own" }, HELP],
    notes: [
      "Several files are the parts of one log that was moved away and begun anew, the",
      "oldest first.",
      "",
      "Exit codes:",
      "  0   all records are there and as they were written",
      "  1   something was removed, changed, cut or forged: each finding with its line",
      "  2   it cannot be told: no audit log, no key, a mistake in the command line",
    ],
  },
  {
    name: "demo",
    usage: ["fairlead demo"],
    summary: "see what passes, what is hidden and what is refused, in a conversation with a small server",
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
