import type { WireError } from "../message/compose.ts";
import { showText } from "../message/text.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { ToolFilter } from "./tool-filter.ts";
import type { Verdict } from "./verdict.ts";

/** The answer to a call of a tool that is hidden or unknown: the same for both. */
export function refuseCall(filter: ToolFilter, catalogue: Catalogue, tool: string): Extract<Verdict, { do: "deny" }> {
  // Nothing in it can drive a terminal or forge a line.
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

/** The server's own answer, under another name. Null where it has none, or one that says more than it should. */
function mirror(filter: ToolFilter, catalogue: Catalogue, name: string): Extract<Verdict, { do: "deny" }> | null {
  const { refusal } = catalogue;
  if (refusal === null || refusal === undefined) return null;
  const { hidden } = filter.view(catalogue);
  if (hidden.some((each) => refusal.text.includes(each))) return null;
  const text = refusal.text.replaceAll(refusal.name, () => JSON.stringify(name).slice(1, -1));
  const error = refusal.kind === "error" ? readError(text) : UNKNOWN;
  if (error === null) return null;
  return refusal.kind === "error" ? { do: "deny", error } : { do: "deny", error, result: Buffer.from(text) };
}

const UNKNOWN: WireError = { code: -32602, message: "Unknown tool" };

function readError(text: string): WireError | null {
  const { code, message, data } = JSON.parse(text) as { [Member in keyof WireError]?: unknown };
  if (typeof code !== "number" || typeof message !== "string") return null;
  return data === undefined ? { code, message } : { code, message, data };
}
