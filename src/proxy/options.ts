import { types } from "node:util";
import { ProxyError } from "../errors.ts";
import { parsePattern, type Pattern } from "../policy/patterns.ts";
import { createLog, type Log, SILENT_LOG } from "../record/log/log.ts";
import { safeJson } from "../record/log/safe-json.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "./limits.ts";

/** The options that `createProxy` and `inspectTools` share. */
interface SharedOptions {
  readonly command?: readonly string[];
  readonly upstream?: string;
  readonly deny?: readonly (Pattern | string)[];
  readonly allow?: readonly (Pattern | string)[];
  readonly log?: Log | null;
}

/**
 * Throws if options are invalid. Types do not protect a program in JavaScript, and a filter that is misspelt or has the
 * wrong form would hide nothing.
 */
export function checkOptions(options: SharedOptions, known: readonly string[]): void {
  if (!isObject(options)) throw bad("The options are missing", `Give at least ${COMMAND}`);
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw bad(`Unknown option: ${name}`, `The options are: ${known.join(", ")}`);
  }
  const values: Readonly<Record<string, unknown>> = { ...options };
  if (values["upstream"] === undefined) checkCommand(values["command"]);
  else if (values["command"] !== undefined) throw bad("A server is a command or a URL, not both", "Leave one out");
  check(values, "upstream", (value) => typeof value === "string", "a URL");
  check(values, "headers", isTexts, 'an object of texts, such as headers: { Authorization: "Bearer …" }');
  check(values, "ca", (value) => typeof value === "string", "the path of a PEM file");
  check(values, "onLoss", (value) => value === "exit" || value === "keep", '"exit" or "keep"');
  check(values, "listen", isPlace, "an object with a port, such as listen: { port: 8808 }");
  check(values, "env", isTexts, 'an object of texts, such as env: { NAME: "value" }');
  check(values, "cwd", (value) => typeof value === "string" && value !== "", "the path of a directory");
  check(values, "client", isObject, "an object with the streams input and output");
  check(values, "audit", (value) => value === null || typeof value === "function", "a function, or null");
  check(values, "observers", isFunctions, "a list of functions");
  check(values, "log", (value) => value === null || isLog(value), "a log, such as from createLog, or null");
  check(values, "timeoutMs", isWholePositive, "a positive whole number of milliseconds");
  check(values, "validate", (value) => value === "lists" || value === "results", '"lists" or "results"');
  check(values, "idleMs", isWholePositive, "a positive whole number of milliseconds");
  check(values, "onProgress", (value) => typeof value === "function", "a function");
  check(values, "signal", (value) => value instanceof AbortSignal, "an AbortSignal");
  check(values, "connectTimeoutMs", isWholePositive, "a positive whole number of milliseconds");
  check(values, "policy", isObject, "what was read from a policy file");
  check(values, "policyFolder", (value) => typeof value === "string", "the path of a directory");
  check(values, "limits", isSomeOf(DEFAULT_LIMITS), `positive numbers: ${Object.keys(DEFAULT_LIMITS).join(", ")}`);
  const times = `whole milliseconds: ${Object.keys(DEFAULT_TIMEOUTS).join(", ")}`;
  check(values, "timeouts", isSomeOf(DEFAULT_TIMEOUTS, isWholePositive), times);
}

/**
 * The checked patterns of a list. A string is one pattern. `where` is the name of the containing object, for error
 * messages.
 */
export function readPatterns(
  options: Pick<SharedOptions, "deny" | "allow">,
  list: "deny" | "allow",
  where = "",
): Pattern[] {
  const patterns: unknown = options[list] ?? [];
  if (!Array.isArray(patterns)) {
    const remedy = `Write ${list}: ["^delete_"], or ${list}: parsePatternList("^delete_,^drop_", "${list}")`;
    throw bad(`${where}${list} must be a list of patterns, not ${show(patterns)}`, remedy);
  }
  return patterns.map((pattern: unknown, index) => {
    if (typeof pattern === "string" && pattern.trim() !== "") return parsePattern(pattern, list);
    if (isPattern(pattern)) return pattern;
    const remedy = `Write it as text, such as ${list}: ["^delete_"]`;
    throw bad(`${where}${list}[${index}] must be a pattern, not ${show(pattern)}`, remedy);
  });
}

/** The log to use: the given one, or warnings on stderr. */
export function readLog({ log }: SharedOptions): Log {
  return log === undefined ? createLog({ level: "warn" }) : (log ?? SILENT_LOG);
}

const COMMAND = 'command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]';

function checkCommand(command: unknown): void {
  const remedy = `Write the program and its arguments, such as ${COMMAND}`;
  if (!Array.isArray(command)) throw bad(`command must be a list of words, not ${show(command)}`, remedy);
  if (command.length === 0) throw bad("command is empty", remedy);
  const index = command.findIndex((word, at) => typeof word !== "string" || (at === 0 && word === ""));
  if (index >= 0) throw bad(`command[${index}] must be a word, not ${show(command[index])}`, remedy);
}

/** Checks an optional option. */
function check(
  values: Readonly<Record<string, unknown>>,
  name: string,
  isRight: (value: unknown) => boolean,
  what: string,
): void {
  const value = values[name];
  if (value === undefined || isRight(value)) return;
  throw bad(`${name} must be ${what}`, `It is ${show(value)}: fix it, or leave it out`);
}

/** Header lines, each with its CRLF. Throws if a header cannot be sent. */
export function composeHeaders(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => {
      const isSound = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
      if (!isSound) throw bad(`Header ${show(name)} cannot be sent`, "Take out line breaks and other odd characters");
      return `${name}: ${value}\r\n`;
    })
    .join("");
}

function isPlace(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { port } = value as { port?: unknown };
  return Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535;
}

/** Throws if a value is not an object or has unknown members. */
export function checkMembers(value: unknown, where: string, known: readonly string[]): void {
  if (!isObject(value)) throw bad(`${where} must be an object`, `It is ${show(value)}: fix it, or leave it out`);
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw bad(`Unknown option: ${where}.${name}`, `The options are: ${known.join(", ")}`);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isFunctions(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "function");
}

function isTexts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((each) => typeof each === "string");
}

function isSomeOf(all: object, isRight = isPositive): (value: unknown) => boolean {
  return (value) => isObject(value) && Object.entries(value).every(([name, each]) => name in all && isRight(each));
}

function isWholePositive(value: unknown): boolean {
  return Number.isInteger(value) && isPositive(value);
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && value > 0;
}

function isLog(value: unknown): boolean {
  if (!isObject(value)) return false;
  return ["error", "warn", "info", "debug"].every((name) => name in value);
}

/**
 * A regular expression with the flag `g` or `y` keeps its position and would fail every other time, so it is refused.
 */
function isPattern(value: unknown): value is Pattern {
  if (!isObject(value)) return false;
  const { source, expression } = value as Partial<Pattern>;
  return typeof source === "string" && types.isRegExp(expression) && !expression.global && !expression.sticky;
}

/** A value for an error message. The content of objects is not shown, because it may be a secret. */
function show(value: unknown): string {
  if (typeof value === "string") return safeJson(value.slice(0, MAX_SHOWN_CHARACTERS));
  if (types.isRegExp(value)) return String(value);
  return Array.isArray(value) ? "a list" : isObject(value) ? "an object" : String(value);
}

const MAX_SHOWN_CHARACTERS = 100;

function bad(message: string, remedy: string): ProxyError {
  return new ProxyError("BAD_USAGE", message, remedy);
}
