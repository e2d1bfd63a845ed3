import { readFileSync } from "node:fs";
import { explainMessage } from "../proxy/explain.ts";
import { loadPolicyFile } from "../proxy/policy-file.ts";
import { composeExplanation, composeExplanationJson } from "./explanation.ts";
import type { Parsed } from "./options.ts";
import { print } from "./output.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** Says what a policy makes of one message, and why. */
export async function runExplain(parsed: Parsed): Promise<number> {
  const { words, rest } = parsed;
  const extra = words[0] ?? rest?.[0];
  if (extra !== undefined)
    throw usage(`Unexpected word: ${showWord(extra)}`, "Put the message after --message, in quotes");
  const given = value(parsed, "message");
  if (given === undefined) {
    const example = `'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file"}}'`;
    throw usage("No message to explain", `Write it as JSON, or - for stdin: fairlead explain --message ${example}`);
  }
  const message = given === "-" ? readFileSync(0, "utf8").trim() : given;
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
  await print(isJson ? composeExplanationJson(explanation) : composeExplanation(explanation));
  return 0;
}

/** Throws where a text is not a message at all. What is only wrong with one is for the explanation. */
function checkMessage(text: string, option: string): void {
  const problem = findProblem(text);
  if (problem === null) return;
  throw usage(`What --${option} says is not a message: ${problem}`, `Write JSON-RPC, such as ${EXAMPLE}`);
}

const EXAMPLE = `'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`;

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
