import { spell } from "../message/id.ts";
import { META_KEYS } from "../message/protocol.ts";
import type { Call } from "../session/call.ts";
import type { Session } from "../session/session.ts";

/** Says that the tools are others from now on, as the server would if they were. */
export const TOOLS_CHANGED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');

/** The same for a client that asked to hear of it, by 2026-07-28: it says which request that was. */
export function toolsChangedFor({ id }: Call): Buffer {
  const meta = `{"${META_KEYS.subscriptionId}":${spell(id)}}`;
  const text = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":${meta}}}`;
  return Buffer.from(text, "latin1");
}

/** Tells a client in one conversation, in every way in which it hears of such things. */
export function announce({ calls, hasBegun }: Session, send: (message: Buffer, about: Call | null) => void): void {
  if (hasBegun()) send(TOOLS_CHANGED, null);
  for (const call of calls.up.waiting()) if (isListening(call)) send(toolsChangedFor(call), call);
}

/** Whether a request stands until somebody ends it, and brings news. */
export function isListening({ method, claim }: Call): boolean {
  return method.name === "subscriptions/listen" && claim === null;
}
