/** What a server says unasked, and what of it every policy keeps from the client. */
export const NEWS = [
  { method: "notifications/progress", params: '"progressToken":TOKEN,"progress":1.50', isHidden: false },
  { method: "notifications/message", params: '"level":"info","data":"x"', isHidden: false },
  { method: "notifications/message", params: '"level":"info","logger":"secret","data":"x"', isHidden: true },
  { method: "notifications/resources/updated", params: '"uri":"safe_a://x"', isHidden: false },
  { method: "notifications/resources/updated", params: '"uri":"secret_a://x"', isHidden: true },
  { method: "notifications/tools/list_changed", params: '"n":1', isHidden: false },
] as const;

/** What a server asks a client. */
export const ASKED = [
  { method: "sampling/createMessage", isBlocked: false },
  { method: "elicitation/create", isBlocked: true },
  { method: "roots/list", isBlocked: false },
  { method: "ping", isBlocked: false },
] as const;
