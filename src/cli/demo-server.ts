import { createInterface } from "node:readline";
import { OWN_REVISION } from "../message/protocol.ts";

const TOOLS = [
  { name: "list_notes", description: "The titles of all notes", inputSchema: { type: "object" } },
  {
    name: "write_note",
    description: "Writes a note",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  {
    name: "delete_note",
    description: "Deletes a note for good",
    inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
  },
  { name: "delete_everything", description: "Deletes all notes for good", inputSchema: { type: "object" } },
];

interface DemoRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: { readonly text?: string } };
}

/** A small MCP server for the demo. It responds until its stdin closes. */
export function runDemoServer(): Promise<number> {
  const notes = ["buy milk"];
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const { id, method, params } = JSON.parse(line) as DemoRequest;
    if (id === undefined) return;
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer(method, params) })}\n`);
  });
  return new Promise((resolve) => {
    lines.on("close", () => resolve(0));
  });

  function answer(method: string, params: DemoRequest["params"]): object {
    switch (method) {
      case "initialize":
        return {
          result: {
            protocolVersion: OWN_REVISION.stateful,
            capabilities: { tools: {} },
            serverInfo: { name: "notes", version: "1.0.0" },
          },
        };
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: TOOLS } };
      case "tools/call":
        if (params?.name === "write_note") notes.push(params.arguments?.text ?? "");
        return { result: { content: [{ type: "text", text: notes.join(", ") }] } };
      default:
        return { error: { code: -32601, message: "Method not found" } };
    }
  }
}
