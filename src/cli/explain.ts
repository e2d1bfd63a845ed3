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

const DEFAULT_FILE = "fairlead.yaml";
