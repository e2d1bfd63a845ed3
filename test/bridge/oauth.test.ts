import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type NearGateway, openGateway } from "../support/near-gateway.ts";
import { replyWith, resultFor } from "../support/scripted-http.ts";
import type { Spoken } from "../support/peers.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** What the server has at its paths, beside MCP at /mcp. */
type Pages = Record<string, (response: ServerResponse, asked: IncomingMessage) => void>;

interface Stage {
  readonly gateway: NearGateway;
  readonly origin: string;
  /** The paths that reached the server by GET or HEAD, while nobody spoke MCP. */
  readonly asked: string[];
}

/** A server with these pages behind a gateway. What it says to somebody who has to log in is `challenge`. */
async function begin(
  pages: Pages,
  challenge: (origin: string, asked: IncomingMessage) => string = () => "",
): Promise<Stage> {
  const asked: string[] = [];
  let origin = "";
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? "";
    let body = "";
    incoming.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    incoming.on("end", () => {
      if (incoming.method === "POST" && path.startsWith("/mcp")) {
        const message = JSON.parse(body) as Spoken;
        if (message.method !== "x/login")
          return message.id === undefined
            ? void response.writeHead(202).end()
            : replyWith(response, resultFor(message));
        response.writeHead(401, { "WWW-Authenticate": challenge(origin, incoming) }).end();
      } else if (path.startsWith("/mcp")) response.writeHead(405).end();
      else {
        asked.push(path);
        const page = pages[path] ?? pages["*"];
        if (page === undefined) response.writeHead(404).end();
        else page(response, incoming);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = await openGateway({ upstream: `${origin}/mcp` });
  ends.push(
    () => gateway.end(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  asked.length = 0;
  return { gateway, origin, asked };
}

/** Asks for a path as it is spelled: `fetch` would resolve its dots. */
function ask(
  { gateway }: Stage,
  path: string,
  method = "GET",
): Promise<{ status: number; body: string; headers: IncomingMessage["headers"] }> {
  return new Promise((resolve, reject) => {
    const asked = request(gateway.url, { path, method, headers: { Connection: "close" } }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** Has the server refuse, and says where the metadata is by that. */
async function login({ gateway }: Stage, headers: Record<string, string> = {}): Promise<string> {
  const refused = await gateway.post({ id: 1, method: "x/login" }, headers);
  expect(refused.status).toBe(401);
  return refused.headers.get("www-authenticate") ?? "";
}

const metadata = (origin: string): object => ({
  resource: `${origin}/mcp`,
  authorization_servers: ["https://login.example"],
});
const secret: Pages[string] = (response) => replyWith(response, { secret: true });

describe("the metadata of a server", () => {
  test("is reached where clients look for it, and names us", async () => {
    const stage = await begin({ "*": (response) => replyWith(response, metadata(stage.origin)) });
    for (const path of ["", "/mcp"]) {
      const { status, body } = await ask(stage, `/.well-known/oauth-protected-resource${path}`);
      expect([status, JSON.parse(body)]).toEqual([200, metadata(stage.gateway.url)]);
    }
    const { body } = await ask(stage, "/.well-known/oauth-protected-resource/sse");
    expect(JSON.parse(body)).toMatchObject({ resource: `${stage.gateway.url}/sse` });
    const prefix = "/.well-known/oauth-protected-resource";
    expect(stage.asked).toEqual([prefix, `${prefix}/mcp`, `${prefix}/mcp`]);
  });

  test("of its authorization server is, too", async () => {
    const stage = await begin({ "*": (response) => replyWith(response, { issuer: stage.origin }) });
    for (const name of ["oauth-authorization-server", "openid-configuration"]) {
      for (const path of ["", "/mcp"]) {
        const { status, body } = await ask(stage, `/.well-known/${name}${path}`);
        expect([status, JSON.parse(body)]).toEqual([200, { issuer: stage.origin }]);
      }
    }
  });

  test("has a head as well", async () => {
    const stage = await begin({ "*": (response) => replyWith(response, metadata(stage.origin)) });
    const { status, body, headers } = await ask(stage, "/.well-known/oauth-protected-resource", "HEAD");
    expect([status, body, headers["content-type"]]).toEqual([200, "", "application/json"]);
  });
});

const PREFIXES = ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"].map(
  (name) => `/.well-known/${name}`,
);
const TAILS = [
  "/../../admin/secrets",
  "/%2e%2e/%2e%2e/admin/secrets",
  "/%2E%2e/.%2e/admin/secrets",
  "/..%2f..%2fadmin/secrets",
  "/..%5c..%5cadmin/secrets",
  "/..\\..\\admin\\secrets",
  "/%252e%252e/%252e%252e/admin/secrets",
  "/..;/..;/admin/secrets",
  "/mcp/../../../admin/secrets",
  "/mcp/..%2f..%2f..%2fadmin/secrets",
  "/../../mcp",
  "/%2e%2e/%2e%2e/mcp",
  "/./mcp",
  "//mcp",
  "/mcp/",
  "/%6dcp",
  "/mcp%00",
  "/admin",
  "-of-somebody-else",
  "../../admin/secrets",
];

describe("no other path of a server is reached", () => {
  test.each(PREFIXES)("by way of %s", async (prefix) => {
    const stage = await begin({ "*": secret });
    for (const tail of TAILS) {
      for (const method of ["GET", "HEAD"]) {
        const { status, body } = await ask(stage, prefix + tail, method);
        expect([tail, status]).toEqual([tail, 404]);
        expect(body).not.toContain("secret");
      }
    }
    expect(stage.asked).toEqual([]);
  });

  test("by a dot segment at the front, or another spelling of what is known", async () => {
    const stage = await begin({ "*": secret });
    for (const path of [
      "/./.well-known/oauth-protected-resource",
      "/x/../.well-known/oauth-protected-resource",
      "/%2ewell-known/oauth-protected-resource",
      "//.well-known/oauth-protected-resource",
      "/.WELL-KNOWN/oauth-protected-resource",
      "/admin/secrets",
    ]) {
      expect([path, (await ask(stage, path)).status]).toEqual([path, 404]);
    }
    expect(stage.asked).toEqual([]);
  });
});

describe("what is not metadata is not passed on", () => {
  const path = "/.well-known/oauth-protected-resource";

  test.each<[string, Pages[string]]>([
    ["a page", (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<html>secret</html>")],
    [
      "an event stream",
      (response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).end('data: {"secret":1}\n\n'),
    ],
    ["a list", (response) => replyWith(response, ["secret"])],
    ["a text", (response) => response.writeHead(200, { "Content-Type": "application/json" }).end('"secret"')],
    ["half an object", (response) => response.writeHead(200, { "Content-Type": "application/json" }).end('{"secret":')],
    [
      "what is not UTF-8",
      (response) =>
        response
          .writeHead(200, { "Content-Type": "application/json" })
          .end(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
    ],
    ["an object without what metadata must have", (response) => replyWith(response, { secret: 1 })],
    ["a message", (response) => replyWith(response, { jsonrpc: "2.0", id: 1, result: { secret: 1 } })],
    ["a redirect", (response) => response.writeHead(302, { Location: "/admin/secrets" }).end("secret")],
    [
      "what is encoded",
      (response) =>
        response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" }).end("secret"),
    ],
  ])("%s", async (_, page) => {
    const stage = await begin({ "*": page });
    const { status, body, headers } = await ask(stage, path);
    expect(status).toBe(404);
    expect(body).not.toContain("secret");
    expect(headers.location).toBeUndefined();
  });

  test("an error of the server's keeps its status and loses its body", async () => {
    const stage = await begin({ "*": (response) => replyWith(response, { secret: 1 }, {}, 503) });
    const { status, body } = await ask(stage, path);
    expect([status, body.includes("secret")]).toEqual([503, false]);
  });

  test("more than 256 kB", async () => {
    const stage = await begin({
      "*": (response) => replyWith(response, { resource: "x", secret: "x".repeat(262_144) }),
    });
    const { status, body } = await ask(stage, path);
    expect([status, body.includes("secret")]).toEqual([502, false]);
  });
});

const naming =
  (path: string) =>
  (origin: string): string =>
    `Bearer error="invalid_token", resource_metadata="${origin}${path}", scope="a"`;

describe("where a server names a place of its own", () => {
  test("its metadata is reached there, under our name, by exactly that path and query", async () => {
    const stage = await begin(
      { "/meta/data?of=mcp": (response) => replyWith(response, metadata(stage.origin)), "*": secret },
      naming("/meta/data?of=mcp"),
    );
    expect((await ask(stage, "/meta/data?of=mcp")).status).toBe(404); // nobody has named it yet
    expect(await login(stage)).toBe(
      `Bearer error="invalid_token", resource_metadata="${stage.gateway.url}/meta/data?of=mcp", scope="a"`,
    );
    const { status, body } = await ask(stage, "/meta/data?of=mcp");
    expect([status, JSON.parse(body)]).toEqual([200, metadata(stage.gateway.url)]);
    for (const other of [
      "/meta/data",
      "/meta/data?of=admin",
      "/meta/data?of=mcp&x=1",
      "/meta/data/",
      "/meta/data/../../admin?of=mcp",
    ]) {
      expect([other, (await ask(stage, other)).status]).toEqual([other, 404]);
    }
    expect(stage.asked).toEqual(["/meta/data?of=mcp"]);
  });

  test.each([
    ["something that is not the metadata of this server", "/admin/secrets"],
    ["a path with dot segments in it", "/a/..%2f..%2fadmin/secrets"],
    ["a path with dots that are encoded twice", "/a/%252e%252e/secrets"],
    ["a path with parameters in its segments", "/a/..;/secrets"],
  ])("%s is not reached", async (_, path) => {
    const stage = await begin({ "*": secret }, naming(path));
    const challenge = await login(stage);
    const [, named] = /resource_metadata="([^"]*)"/.exec(challenge) ?? [];
    expect(named.startsWith(stage.gateway.url)).toBe(true);
    for (const each of [path, named.slice(stage.gateway.url.length)]) {
      expect((await ask(stage, each)).body).not.toContain("secret");
    }
  });

  test("metadata that speaks for another server is not passed on", async () => {
    const stage = await begin(
      { "*": (response) => replyWith(response, { resource: "https://other.example/mcp", secret: 1 }) },
      naming("/meta"),
    );
    await login(stage);
    expect((await ask(stage, "/meta")).status).toBe(404);
  });

  test("a place on another origin stays what it is, and is not asked for", async () => {
    const elsewhere = 'Bearer resource_metadata="https://other.example/meta"';
    const stage = await begin({ "*": secret }, () => elsewhere);
    expect(await login(stage)).toBe(elsewhere);
    expect((await ask(stage, "/meta")).status).toBe(404);
  });

  test("the newest twenty are known: who has many named does not keep the next one from being reached", async () => {
    const pages: Pages = { "*": (response) => replyWith(response, metadata(stage.origin)) };
    const stage = await begin(pages, (origin, { headers }) => naming(`/meta/${String(headers["x-nth"])}`)(origin));
    for (let nth = 0; nth <= 20; nth++) await login(stage, { "X-Nth": String(nth) });
    expect((await ask(stage, "/meta/20")).status).toBe(200);
    expect((await ask(stage, "/meta/1")).status).toBe(200);
    expect((await ask(stage, "/meta/0")).status).toBe(404);
  });

  test("a place of 1,024 characters is reached, and for a longer one clients are sent to the usual place", async () => {
    const longest = "/meta/".padEnd(1024, "x");
    for (const [place, named] of [
      [longest, longest],
      [`${longest}x`, "/.well-known/oauth-protected-resource/mcp"],
    ]) {
      const stage = await begin({}, naming(place));
      expect(await login(stage)).toContain(`"${stage.gateway.url}${named}"`);
    }
  });

  test("each mention of the server's own address is changed, quoted or not", async () => {
    const stage = await begin(
      {},
      (origin) =>
        `Bearer resource_metadata=${origin}/.well-known/oauth-protected-resource/mcp, Resource_Metadata = "${origin}/meta"`,
    );
    const ours = stage.gateway.url;
    expect(await login(stage)).toBe(
      `Bearer resource_metadata="${ours}/.well-known/oauth-protected-resource/mcp", resource_metadata="${ours}/meta"`,
    );
  });
});
