import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Gateway, startGateway, stopGateways } from "../support/gateway.ts";
import { type ScriptedServer, startScripted } from "../support/scripted-server.ts";

const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
const title = BROWSER === undefined ? "a browser (left out: there is no Chromium at /usr/bin/chromium)" : "a browser";

/** What a page found out: each thing it tried, and what it got to see. */
type Findings = Record<string, string>;

const HELLO = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } },
});

/** What a page gets to see that is not welcome. */
const UNREADABLE: Findings = {
  json: "TypeError",
  text: "opaque 0",
  typed: "opaque 0",
  get: "TypeError",
  sse: "TypeError",
  health: "TypeError",
  remove: "TypeError",
  cookies: "TypeError",
  beacon: "true",
  events: "error",
  socket: "error",
  script: "error",
};

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

function servePage(text: string): Serve {
  return (_, response) => void response.writeHead(200, { "Content-Type": "text/html", Connection: "close" }).end(text);
}

/** What a page tries: everything by which a page can speak to somebody else. `there` is the gateway. */
function tryAll(there: string, hello: string): Record<string, () => Promise<string>> {
  // oxlint-disable-next-line unicorn/consistent-function-scoping -- all of this is sent to the browser as it stands
  const shown = async (answer: Promise<Response>): Promise<string> => {
    const { type, status } = await answer;
    return `${type} ${status}`;
  };
  const json = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const page = globalThis as unknown as {
    document: {
      body: { append(...nodes: unknown[]): void };
      createElement(name: string): Record<string, unknown> & { append(node: unknown): void; submit(): void };
    };
    navigator: { sendBeacon(url: string, body: unknown): boolean };
    EventSource: new (url: string) => Record<string, unknown> & { close(): void };
    WebSocket: new (url: string) => Record<string, unknown>;
  };
  // oxlint-disable-next-line unicorn/consistent-function-scoping -- this too is sent with the rest
  const settle = (thing: Record<string, unknown>): Promise<string> =>
    new Promise((resolve) => {
      thing["onopen"] = thing["onload"] = thing["onmessage"] = () => resolve("open");
      thing["onerror"] = () => resolve("error");
      setTimeout(() => resolve("silence"), 1500);
    });
  return {
    json: () => shown(fetch(`${there}/mcp`, { method: "POST", headers: json, body: hello })),
    text: () => shown(fetch(`${there}/mcp`, { method: "POST", mode: "no-cors", body: hello })),
    typed: () => shown(fetch(`${there}/mcp`, { method: "POST", mode: "no-cors", headers: json, body: hello })),
    get: () => shown(fetch(`${there}/mcp`)),
    sse: () => shown(fetch(`${there}/sse`)),
    health: () => shown(fetch(`${there}/healthz`)),
    remove: () => shown(fetch(`${there}/mcp`, { method: "DELETE", headers: { "Mcp-Session-Id": "s-1" } })),
    cookies: () => shown(fetch(`${there}/mcp`, { method: "POST", headers: json, body: hello, credentials: "include" })),
    beacon: async () =>
      String(page.navigator.sendBeacon(`${there}/mcp`, new Blob([hello], { type: "application/json" }))),
    events: () => settle(new page.EventSource(`${there}/sse`)),
    socket: () => settle(new page.WebSocket(`${there.replace("http", "ws")}/mcp`)),
    script: async () => {
      const script = page.document.createElement("script");
      script["src"] = `${there}/healthz`;
      page.document.body.append(script);
      return settle(script);
    },
    form: async () => {
      const frame = page.document.createElement("iframe");
      frame["name"] = "target";
      const form = page.document.createElement("form");
      Object.assign(form, { method: "POST", action: `${there}/mcp`, enctype: "text/plain", target: "target" });
      const input = page.document.createElement("input");
      Object.assign(input, { name: hello.slice(0, -2), value: '"}}' });
      form.append(input);
      page.document.body.append(frame, form);
      form.submit();
      return settle(frame);
    },
  };
}

/** A page that tries all of it, or runs other code, and reports to its own server. */
function pageFor(there: string, report: string, code = ""): string {
  return `<!DOCTYPE html><meta charset="utf-8"><body><script type="module">
    const findings = {};
    ${
      code === ""
        ? `for (const [name, attempt] of Object.entries((${tryAll.toString()})(${JSON.stringify(there)}, ${JSON.stringify(HELLO)}))) {
      findings[name] = await attempt().catch((error) => error.name);
    }`
        : code
    }
    await fetch(${JSON.stringify(report)}, { method: "POST", mode: "no-cors", body: JSON.stringify(findings) });
  </script>`;
}

describe.skipIf(BROWSER === undefined)(title, { timeout: 90_000 }, () => {
  let server: ScriptedServer;
  let gateway: Gateway;
  let pages: Server;
  let serve: Serve | null = null;
  let found: ((findings: Findings) => void) | null = null;
  let port: number;
  let running: ChildProcess | null = null;
  const profile = mkdtempSync(join(tmpdir(), "fairlead-browser-"));

  beforeAll(async () => {
    server = await startScripted();
    pages = createServer((request, response) => {
      if (request.url !== "/report") return serve?.(request, response);
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
      request.on("end", () => {
        response.end();
        found?.(JSON.parse(body) as Findings);
      });
      return undefined;
    });
    await new Promise<void>((resolve) => void pages.listen(0, "127.0.0.1", resolve));
    ({ port } = pages.address() as AddressInfo);
    gateway = await startGateway(["--upstream", server.url, "--allow-origin", `http://friend.example:${port}`]);
  });

  afterEach(() => {
    if (running?.pid !== undefined) process.kill(-running.pid, "SIGKILL");
    running = null;
  });

  afterAll(() => {
    stopGateways();
    server.close();
    pages.closeAllConnections();
    pages.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });

  /** Opens a page in the browser and waits for what it reports. */
  function visit(url: string): Promise<Findings> {
    server.heard.length = 0;
    return new Promise((resolve, reject) => {
      found = resolve;
      running = spawn(
        BROWSER ?? "",
        [
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--no-first-run",
          "--disable-background-networking",
          "--disable-component-update",
          `--user-data-dir=${profile}`,
          "--host-resolver-rules=MAP * 127.0.0.1",
          "--no-proxy-server",
          url,
        ],
        { stdio: "ignore", detached: true },
      );
      running.on("error", reject);
      setTimeout(() => reject(new Error("the page has not reported")), 60_000).unref();
    });
  }

  const there = (): string => `http://127.0.0.1:${gateway.port}`;

  test.each(["evil.example", "localhost", "127.0.0.1"])(
    "a page of %s reaches neither us nor the server",
    async (host) => {
      serve = servePage(pageFor(there(), `http://${host}:${port}/report`));
      const findings = await visit(`http://${host}:${port}/`);
      expect(findings).toMatchObject(UNREADABLE);
      expect(server.heard).toEqual([]);
    },
  );

  test("nor does one without an origin", async () => {
    const inner = pageFor(there(), `http://127.0.0.1:${port}/report`)
      .replaceAll("&", "&amp;")
      .replaceAll('"', "&quot;");
    serve = servePage(`<iframe sandbox="allow-scripts allow-forms" srcdoc="${inner}"></iframe>`);
    expect(await visit(`http://evil.example:${port}/`)).toMatchObject(UNREADABLE);
    expect(server.heard).toEqual([]);
  });

  test("nor does one whose name points to us once it is loaded", async () => {
    // To the browser it is one origin: the first connection gets the page, the others are led to us.
    const page = pageFor("", `http://127.0.0.1:${port}/report`);
    let isLoaded = false;
    const rebound = createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (first: Buffer) => {
        if (!isLoaded) {
          isLoaded = true;
          const length = Buffer.byteLength(page);
          const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;
          return void socket.end(head + page);
        }
        const onward = connect(gateway.port, "127.0.0.1").on("error", () => {});
        onward.write(first);
        return void socket.pipe(onward).pipe(socket);
      });
    });
    await new Promise<void>((resolve) => void rebound.listen(0, "127.0.0.1", resolve));
    const findings = await visit(`http://evil.example:${(rebound.address() as AddressInfo).port}/`);
    // It may read the answers now, and what it reads is that it is not welcome.
    for (const name of ["json", "get", "sse", "health", "remove"])
      expect([name, findings[name]]).toEqual([name, "basic 403"]);
    expect(server.heard).toEqual([]);
    rebound.close();
  });

  test("one that was allowed speaks to the server, and reads the session's id", async () => {
    const code = `
      const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
      const opened = await fetch(${JSON.stringify(there())} + "/mcp", { method: "POST", headers, body: ${JSON.stringify(HELLO)} });
      findings.status = String(opened.status);
      findings.session = opened.headers.get("Mcp-Session-Id");
      const answer = await fetch(${JSON.stringify(there())} + "/mcp", {
        method: "POST",
        headers: { ...headers, "Mcp-Session-Id": findings.session, "MCP-Protocol-Version": "2025-11-25", "Mcp-Param-Region": "eu" },
        body: '{"jsonrpc":"2.0","id":2,"method":"ping"}',
      });
      findings.pong = await answer.text();
      const ended = await fetch(${JSON.stringify(there())} + "/mcp", { method: "DELETE", headers: { "Mcp-Session-Id": findings.session } });
      findings.ended = String(ended.status);`;
    serve = servePage(pageFor(there(), `http://friend.example:${port}/report`, code));
    expect(await visit(`http://friend.example:${port}/`)).toEqual({
      status: "200",
      session: "s-1",
      pong: '{"jsonrpc":"2.0","id":2,"result":{}}',
      ended: "200",
    });
    expect(server.calls("ping")[0].header("mcp-param-region")).toBe("eu");
    expect(server.calls("ping")[0].header("origin")).toBeUndefined();
  });
});
