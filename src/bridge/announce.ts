import { spell } from "../message/id.ts";
import { META_KEYS } from "../message/protocol.ts";
import type { Call } from "../session/call.ts";
import type { Session } from "../session/session.ts";

/** The notification that the tool list has changed. */
export const TOOLS_CHANGED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');

/**
 * The same notification for a client that subscribed to it (2026-07-28). It carries the id of the subscribing request.
 */
export function toolsChangedFor({ id }: Call): Buffer {
  const meta = `{"${META_KEYS.subscriptionId}":${spell(id)}}`;
  const text = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":${meta}}}`;
  return Buffer.from(text, "latin1");
}

/** Notifies a client that the tools have changed, in every way that its session supports. */
export function announce({ calls, hasBegun }: Session, send: (message: Buffer, about: Call | null) => void): void {
  if (hasBegun()) send(TOOLS_CHANGED, null);
  for (const call of calls.up.waiting()) if (isListening(call)) send(toolsChangedFor(call), call);
}

/** Whether a request is a client's subscription: it stays open until one side ends it. */
export function isListening({ method, claim }: Call): boolean {
  return method.name === "subscriptions/listen" && claim === null;
}
