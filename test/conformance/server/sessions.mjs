import { randomUUID } from "node:crypto";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import { createEventStore } from "./event-store.mjs";

// How long a client should wait before it asks again for a stream that was closed on purpose.
const RETRY_MS = 500;

/** The sessions of the revisions up to 2025-11-25: each has its own server, streams and events. */
export function createSessions(createServer) {
  const transports = new Map();

  return {
    async handle(request, response, body) {
      const id = request.headers["mcp-session-id"];
      const transport = id === undefined && isInitializeRequest(body) ? await open() : transports.get(id);
      if (transport !== undefined) return transport.handleRequest(request, response, body);
      // Streamable HTTP, "Session Management": no id is a bad request, one that has ended is not found.
      if (id === undefined) return refuse(response, 400, -32000, "Bad Request: Mcp-Session-Id header is required");
      return refuse(response, 404, -32001, "Session not found");
    },
  };

  async function open() {
    const server = createServer();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => {
        transports.set(id, transport);
      },
      onsessionclosed: (id) => {
        transports.delete(id);
      },
    });
    await server.connect(transport);
    return transport;
  }
}

function refuse(response, status, code, message) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
