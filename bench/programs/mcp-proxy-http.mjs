// mcp-proxy from HTTP to HTTP. Its command supports only servers on stdio; this does the same with the library's own
// functions and its defaults, and with a server at a URL.
//   node mcp-proxy-http.mjs <port> <url>
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const load = createRequire(new URL("../peers/package.json", import.meta.url));
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { Server } = load("@modelcontextprotocol/server");
const folder = dirname(load.resolve("mcp-proxy/package.json"));
const { proxyServer, startHTTPServer } = await import(pathToFileURL(join(folder, "dist", "index.mjs")).href);

const [port, url] = process.argv.slice(2);
const client = new Client({ name: "mcp-proxy", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const serverCapabilities = client.getServerCapabilities();
await startHTTPServer({
  host: "127.0.0.1",
  port: Number(port),
  async createServer() {
    const server = new Server(client.getServerVersion(), { capabilities: serverCapabilities });
    await proxyServer({ client, server, serverCapabilities });
    return server;
  },
});
