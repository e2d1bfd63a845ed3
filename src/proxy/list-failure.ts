import { ProxyError } from "../errors.ts";
import { safeJson } from "../record/safe-json.ts";
import type { OwnClient } from "../bridge/own-client.ts";

/** Why a server's tools could not be had, and what to do about it. */
export function listFailure(cause: Error, heard: OwnClient["heard"], timeoutMs: number): ProxyError {
  const { message } = cause;
  const isLate = message.startsWith("no answer") || message.startsWith("no whole list");
  const why = isLate ? `Request timeout after ${timeoutMs}ms` : `${message[0].toUpperCase()}${message.slice(1)}`;
  const remedy = `${why}\n${advise(isLate, heard)}`;
  return new ProxyError("TOOL_LIST_FAILED", "Failed to fetch tool list from upstream MCP", remedy, { cause });
}

function advise(isLate: boolean, { messages, banner }: OwnClient["heard"]): string {
  if (banner !== null) {
    return `It wrote ${safeJson(banner)} where MCP messages belong: ${CHECK}`;
  }
  if (!isLate) return `${CHECK[0].toUpperCase()}${CHECK.slice(1)}`;
  return messages === 0 ? `It said nothing: ${CHECK}` : "Give it more time with --tools-timeout";
}

const CHECK = "check that the command is an MCP server on stdin and stdout";
