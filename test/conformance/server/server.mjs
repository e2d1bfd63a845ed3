// An MCP server with every tool, resource and prompt that the conformance suites ask for, in both eras at one
// address: sessions and event streams up to 2025-11-25, single requests from 2026-07-28 on.
// Starts with `PORT=… node server.mjs`, and says its address in its first line. Port 0 means any.
import { createServer } from "node:http";
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { classifyInboundRequest, createMcpHandler, isJsonContentType } from "@modelcontextprotocol/server";
import { createFeatures } from "./features.mjs";
import { createSessions } from "./sessions.mjs";
import { createTaskDoor } from "./task-door.mjs";

const MAX_BODY_BYTES = 4 * 1024 * 1024;

// A page in a browser can reach a server on loopback by a name of its own: both headers have to say loopback.
const guards = [localhostHostValidation(), localhostOriginValidation()];

// The features publish their changes on the handler, and the handler makes the features: it is bound by name.
const modern = createMcpHandler(() => createFeatures((what) => modern.notify[what]()));
const answerModern = toNodeHandler(modern);
const answerTask = createTaskDoor();
const sessions = createSessions(() => createFeatures((what) => modern.notify[what]()));

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (response.headersSent) response.destroy();
    else refuse(response, 500, -32603, "Internal error");
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/mcp`);
});

async function answer(request, response) {
  if (!guards.every((guard) => guard(request, response))) return;
  if (new URL(request.url, "http://localhost").pathname !== "/mcp") return refuse(response, 404, -32000, "Not found");
  if (request.method !== "POST") return sessions.handle(request, response);
  if (!isJsonContentType(request.headers["content-type"])) {
    return refuse(response, 415, -32000, "Content-Type must be application/json");
  }

  const bytes = await readBody(request);
  if (bytes === null) return refuse(response, 413, -32000, "Request body too large");
  let body;
  try {
    body = JSON.parse(bytes.toString("utf8"));
  } catch {
    return refuse(response, 400, -32700, "Parse error");
  }
  const { kind } = classifyInboundRequest({
    httpMethod: request.method,
    protocolVersionHeader: request.headers["mcp-protocol-version"],
    mcpMethodHeader: request.headers["mcp-method"],
    body,
  });
  // A malformed claim to the newer era is answered by that era's rules.
  if (kind === "legacy") return sessions.handle(request, response, body);
  const task = kind === "modern" ? answerTask(request, body) : null;
  if (task !== null) return send(response, task.status, task.reply);
  return answerModern(request, response, body);
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refuse(response, status, code, message) {
  send(response, status, { jsonrpc: "2.0", error: { code, message }, id: null });
}

function send(response, status, message) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(message));
}
