import { readFileSync } from "node:fs";
import { explainMessage } from "../proxy/explain.ts";
import { loadPolicyFile } from "../proxy/policy-file.ts";
import type { Parsed } from "./command-line.ts";
import { composeExplanation, composeExplanationJson } from "./explanation.ts";
import { createPaint, print } from "./output.ts";
import { paintExplanation } from "./paint-lines.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** Runs `fairlead explain`: prints what a policy does with one message, and why. */
export async function runExplain(parsed: Parsed): Promise<number> {
  const { words, rest } = parsed;
  const extra = words[0] ?? rest?.[0];
  if (extra !== undefined)
    throw usage(
      `Unexpected word: ${showWord(extra)}`,
      "Put the message after --message or the arguments after --args, in quotes",
    );
  const message = readMessage(parsed);
  const request = value(parsed, "request") ?? null;
  checkMessage(message, "message");
  if (request !== null) checkMessage(request, "request");
  const { settings, folder } = await loadPolicyFile(value(parsed, "config") ?? DEFAULT_FILE, process.env);
  const direction = (value(parsed, "direction") ?? (request === null ? "up" : "down")) as "up" | "down";
  const explanation = await explainMessage({
    settings,
    folder,
    message,
    direction,
    request,
    client: value(parsed, "client") ?? null,
    identity: value(parsed, "identity") ?? null,
  });
  const isJson = value(parsed, "format") === "json";
  const paint = createPaint(process.stdout, process.env);
  await print(isJson ? composeExplanationJson(explanation) : paintExplanation(composeExplanation(explanation), paint));
  return 0;
}

/** The message: as given, or a call of the given tool. */
function readMessage(parsed: Parsed): string {
  const tool = value(parsed, "tool");
  const args = value(parsed, "args");
  const given = value(parsed, "message");
  if (tool !== undefined) {
    if (given !== undefined) throw usage("The message is given twice", "Give --message, or --tool and --args");
    return composeCall(tool, args === undefined ? "{}" : readInput(args));
  }
  if (args !== undefined) throw usage("--args is given without --tool", `Write --tool <name> --args ${EXAMPLE}`);
  if (given !== undefined) return readInput(given);
  const remedy = `Name a tool, or write a message as JSON: fairlead explain --tool delete_file --args ${EXAMPLE}`;
  throw usage("No message to explain", remedy);
}

const EXAMPLE = `'{"path":"notes.txt"}'`;

/** The value of an option, or the contents of stdin for `-`. */
function readInput(given: string): string {
  return given === "-" ? readFileSync(0, "utf8").trim() : given;
}

/**
 * Composes a tool call. The arguments keep their text, because rules compare numbers exactly and detect duplicate keys.
 */
function composeCall(tool: string, args: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(args);
  } catch {
    throw usage(`Not valid JSON: --args ${showWord(args)}`, `Write an object in single quotes: --args ${EXAMPLE}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw usage(`Not an object: --args ${showWord(args)}`, `Write an object, such as --args ${EXAMPLE}`);
  }
  const params = `{"name":${JSON.stringify(tool)},"arguments":${args}}`;
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
}

/** Throws if a text is not a message at all. Problems within a message are left to the explanation. */
function checkMessage(text: string, option: string): void {
  const problem = findProblem(text);
  if (problem === null) return;
  throw usage(`The value of --${option} is not a message: ${problem}`, `Write JSON-RPC, such as ${MESSAGE_EXAMPLE}`);
}

const MESSAGE_EXAMPLE = `'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`;

function findProblem(text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.trim() === "" ? "it is empty" : "it is not JSON";
  }
  const parts = Array.isArray(value) ? (value as unknown[]) : [value];
  if (parts.length === 0) return "the list is empty";
  for (const part of parts) {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return "it is not an object";
    if (!["method", "result", "error"].some((name) => name in part)) return "it has neither method, result nor error";
  }
  return null;
}

const DEFAULT_FILE = "fairlead.yaml";
