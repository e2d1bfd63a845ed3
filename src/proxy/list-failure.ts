import { ProxyError } from "../errors.ts";
import { safeJson } from "../record/log/safe-json.ts";
import type { OwnClient } from "../bridge/own-client.ts";

/** The error for a tool list that could not be fetched, and what to do about it. */
export function listFailure(cause: Error, heard: OwnClient["heard"], timeoutMs: number): ProxyError {
  const { message } = cause;
  const [, idleMs = null] = /^no answer, and no activity, within (\d+) ms$/.exec(message) ?? [];
  const isLate = message.startsWith("no answer") || message.startsWith("no whole list");
  const limit = idleMs === null ? `${timeoutMs}ms` : `${idleMs}ms in which the server was idle`;
  const why = isLate ? `Request timeout after ${limit}` : `${message[0].toUpperCase()}${message.slice(1)}`;
  const remedy = message === "interrupted" ? why : `${why}\n${advise(isLate, heard)}`;
  return new ProxyError("TOOL_LIST_FAILED", "Failed to fetch tool list from upstream MCP", remedy, { cause });
}

function advise(isLate: boolean, { messages, banner }: OwnClient["heard"]): string {
  const more = isLate ? ", or give it more time with --tools-timeout" : "";
  if (banner !== null) return `It wrote ${safeJson(banner)} to stdout, where only MCP messages may be: ${CHECK}${more}`;
  if (!isLate) return `${CHECK[0].toUpperCase()}${CHECK.slice(1)}`;
  return messages === 0 ? `It said nothing: ${CHECK}${more}` : "Give it more time with --tools-timeout";
}

const CHECK = "check that the command is an MCP server on stdin and stdout";
