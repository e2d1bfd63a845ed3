import { LEVELS } from "../record/log.ts";
import type { Option } from "./options.ts";

/** One of the things the command can do. */
export interface Command {
  /** How it is called; empty for the proxy itself. */
  readonly name: string;
  readonly usage: readonly string[];
  readonly summary: string;
  readonly options: readonly Option[];
  /** What the help says after the options. */
  readonly notes: readonly string[];
  /** Left out of the help. */
  readonly isHidden?: boolean;
}

const HELP: Option = { name: "help", value: null, help: "show this help" };

const FILTER: readonly Option[] = [
  {
    name: "deny",
    value: "<re,re,…>",
    repeats: true,
    help: "hide and refuse tools whose name matches any of these regular expressions",
  },
  { name: "allow", value: "<re,re,…>", repeats: true, help: "only tools that match any of these; --deny still wins" },
];

const CHILD: readonly Option[] = [
  { name: "env", value: "NAME=value", repeats: true, help: "a variable for the server's environment" },
  { name: "cwd", value: "<dir>", help: "the directory the server is started in" },
  { name: "tools-timeout", value: "<time>", help: "how long fetching the tool list may take", fallback: "10s" },
];

const LOG: readonly Option[] = [
  { name: "log-level", value: "<level>", choices: LEVELS, help: "how much is logged on stderr", fallback: "info" },
  { name: "log-format", value: "<format>", choices: ["text", "json"], help: "how it is written", fallback: "text" },
  { name: "log-file", value: "<file>", help: "write the log to this file as well" },
];

const EXIT_CODES = [
  "Exit codes:",
  "  0   the client closed the conversation",
  "  n   the server ended by itself with exit code n",
  "  1   anything else: a mistake in the command line, a signal, a server that was lost",
];

/** All commands, the proxy first. */
export const COMMANDS: readonly Command[] = [
  {
    name: "",
    usage: ["fairlead [options] -- <command> [args…]"],
    summary: "put Fairlead in front of an MCP server that speaks on stdin and stdout",
    options: [
      ...FILTER,
      ...CHILD,
      { name: "audit", value: "<file>", help: "append a record of what was judged to this file (JSON Lines)" },
      {
        name: "audit-level",
        value: "<level>",
        choices: ["default", "all"],
        help: "all: also what simply passes, answers with their latency",
        fallback: "default",
      },
      ...LOG,
      HELP,
      { name: "version", value: null, help: "show the version" },
    ],
    notes: EXIT_CODES,
  },
  {
    name: "tools",
    usage: ["fairlead tools [options] -- <command> [args…]"],
    summary: "list the tools of a server, which of them would be hidden, and what each costs a model's context",
    options: [
      ...FILTER,
      ...CHILD,
      {
        name: "format",
        value: "<format>",
        choices: ["table", "names", "json"],
        help: "table, only the names that stay, or json",
        fallback: "table",
      },
      ...LOG,
      HELP,
    ],
    notes: ["Exit codes:", "  0   listed", "  1   the server could not be started, or its list could not be fetched"],
  },
  {
    name: "audit",
    usage: ["fairlead audit verify [--key <file>] <file>…"],
    summary: "check that nothing was removed from or changed in an audit log",
    options: [{ name: "key", value: "<file>", help: "the key the log was written with, if not your own" }, HELP],
    notes: [
      "Exit codes:",
      "  0   all records are there and as they were written",
      "  1   something was removed, changed, cut or forged: each finding with its line",
      "  2   it cannot be told: no file, or no key",
    ],
  },
  {
    name: "demo",
    usage: ["fairlead demo"],
    summary: "a small server behind Fairlead, and a conversation in which you see what passes, is hidden or refused",
    options: [HELP],
    notes: [],
  },
  {
    name: "demo-server",
    usage: ["fairlead demo-server"],
    summary: "the small server of the demo",
    options: [HELP],
    notes: [],
    isHidden: true,
  },
  {
    name: "help",
    usage: ["fairlead help [command]"],
    summary: "show the help of a command",
    options: [HELP],
    notes: [],
  },
  { name: "version", usage: ["fairlead version"], summary: "show the version", options: [HELP], notes: [] },
];

/** The command of this name. */
export function findCommand(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}
