import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// The revision that the suite speaks in this run.
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;

/** What the scenario hands to the client besides the address. */
export const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** A client that asks the server which era it speaks, where the run is of the newer one. */
export function createClient(capabilities = {}) {
  const mode = revision === "2026-07-28" ? "auto" : "legacy";
  return new Client(
    { name: "fairlead-conformance-client", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode } },
  );
}

/** Connects, does something, and closes. */
export async function converse(url, talk, client = createClient()) {
  await client.connect(new StreamableHTTPClientTransport(url));
  await talk(client);
  await client.close();
}

/**
 * The same with a server of the newer era that cannot be asked: some scenario servers know neither
 * `server/discover` nor `initialize`. The client is told what it would have heard.
 */
export async function converseUnasked(url, talk, client = createClient()) {
  const discover = {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, resources: {}, prompts: {} },
    ttlMs: 0,
    cacheScope: "private",
  };
  await client.connect(new StreamableHTTPClientTransport(url), { prior: { kind: "modern", discover } });
  await talk(client);
  await client.close();
}
