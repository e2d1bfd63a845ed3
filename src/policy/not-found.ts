import type { WireError } from "../message/compose.ts";
import { eachText } from "../message/each-text.ts";
import { readText, showText } from "../message/text.ts";
import type { Catalogue, Refusal } from "../session/catalogue.ts";
import { createScrubber } from "./name-scrubber.ts";
import type { ToolFilter, ToolView } from "./tool-filter.ts";
import type { Verdict } from "./verdict.ts";

/** The response to a call of a hidden or an unknown tool. It is the same for both. */
export function refuseCall(filter: ToolFilter, catalogue: Catalogue, tool: string): Extract<Verdict, { do: "deny" }> {
  // Security: the name must not control a terminal or forge a log line.
  const name = showText(tool, 256);
  switch (filter.notFound) {
    case "contract":
      return { do: "deny", error: { code: -32601, message: `Tool not found: ${name}` } };
    case "spec":
      return { do: "deny", error: { code: -32602, message: `Unknown tool: ${name}` } };
    case "upstream":
      return (
        mirror(filter, catalogue, name) ?? { do: "deny", error: { code: -32601, message: `Tool not found: ${name}` } }
      );
  }
}

/**
 * The server's own response for an unknown tool, with this name in it. Null if there is none, or it names a hidden
 * tool.
 */
function mirror(filter: ToolFilter, catalogue: Catalogue, name: string): Extract<Verdict, { do: "deny" }> | null {
  const { refusal } = catalogue;
  if (refusal === null || refusal === undefined) return null;
  if (namesHidden(refusal, filter.view(catalogue))) return null;
  const text = refusal.text.replaceAll(refusal.name, () => JSON.stringify(name).slice(1, -1));
  const error = refusal.kind === "error" ? readError(text) : UNKNOWN;
  if (error === null) return null;
  return refusal.kind === "error" ? { do: "deny", error } : { do: "deny", error, result: Buffer.from(text) };
}

// Keyed by the view, because the hidden names may change, and the server's response does not.
const leaks = new WeakMap<ToolView, boolean>();

/** Whether the response contains the name of a hidden tool, in upper or lower case, with or without escapes. */
function namesHidden({ text, name }: Refusal, view: ToolView): boolean {
  const known = leaks.get(view);
  if (known !== undefined) return known;
  const search = createScrubber(view.hidden, [])();
  let isLeak = false;
  const bytes = Buffer.from(text);
  eachText(bytes, { start: 0, end: bytes.length }, ({ start, end }) => {
    const said = readText(bytes, start + 1, end - 1).replaceAll(name, " ");
    isLeak ||= search(said) !== said;
    return true;
  });
  leaks.set(view, isLeak);
  return isLeak;
}

const UNKNOWN: WireError = { code: -32602, message: "Unknown tool" };

function readError(text: string): WireError | null {
  const { code, message, data } = JSON.parse(text) as { [Member in keyof WireError]?: unknown };
  if (typeof code !== "number" || typeof message !== "string") return null;
  return data === undefined ? { code, message } : { code, message, data };
}
