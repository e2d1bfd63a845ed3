/** A message, and for a response also its request. */
export interface Case {
  readonly name: string;
  readonly request: Buffer | null;
  readonly message: Buffer;
  readonly direction: "up" | "down";
}

/** Messages of the kinds that a proxy sees: small ones, and large ones of several shapes. */
export function composeCases(): Case[] {
  const rows = Array.from({ length: 520 }, (_, id) => ({
    id,
    name: `user ${id}`,
    email: `u${id}@example.com`,
    active: id % 2 === 0,
    score: id * 1.5,
    tags: ["a", "b"],
  }));
  return [
    said("notification", {
      method: "notifications/progress",
      params: { progressToken: 1, progress: 5 },
      jsonrpc: "2.0",
    }),
    answered("short", "hello"),
    answered("56 kB string", "The quick brown fox jumps over the lazy dog. ".repeat(1250)),
    answered("56 kB lines", "The quick brown fox jumps over the lazy dog, and runs.\n".repeat(1000)),
    answered("56 kB escaped", '{"a":"line\\n","b":"c\\td"}\n'.repeat(1500)),
    answered("56 kB not ASCII", "Größe – “naïve” façade, 東京 und Zürich. ".repeat(1000)),
    answer("56 kB rows", CALL, { content: [], structuredContent: { rows } }),
    answer("24 tools", LIST, { tools: TOOLS }),
  ];
}

const CALL = { method: "tools/call", params: { name: "text_1", arguments: { message: "hi" } }, jsonrpc: "2.0", id: 7 };
// With a cursor, because a first page would be answered from the cache.
const LIST = { method: "tools/list", params: { cursor: "none" }, jsonrpc: "2.0", id: 7 };

const TOOLS = Array.from({ length: 24 }, (_, at) => ({
  name: `${at % 3 === 0 ? "file" : "text"}_${at}`,
  description: "What the tool does, and when a model should use it.",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
}));

/** The list from which a filter learns the tools. */
export const FIRST_LIST = {
  request: Buffer.from('{"method":"tools/list","jsonrpc":"2.0","id":1}'),
  message: Buffer.from(JSON.stringify({ result: { tools: TOOLS }, jsonrpc: "2.0", id: 1 })),
};

function said(name: string, message: object): Case {
  return { name, request: null, message: Buffer.from(JSON.stringify(message)), direction: "up" };
}

function answered(name: string, text: string): Case {
  return answer(name, CALL, { content: [{ type: "text", text }] });
}

function answer(name: string, request: object, result: object): Case {
  return {
    name: `${name} (call and answer)`,
    request: Buffer.from(JSON.stringify(request)),
    message: Buffer.from(JSON.stringify({ result, jsonrpc: "2.0", id: 7 })),
    direction: "down",
  };
}
