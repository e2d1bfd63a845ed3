import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Certificate, makeCertificate } from "../support/certificate.ts";
import { type Gateway, refuseToStart, startGateway, stopGateways } from "../support/gateway.ts";
import { type Answer, ask, converse, type Headers, type Question } from "../support/raw-http.ts";
import { type ScriptedServer, startScripted } from "../support/scripted-server.ts";

const JSON_BOTH: Headers = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const hello: Question = { body: HELLO, headers: JSON_BOTH };

function bearing(token: string): Headers {
  return [...JSON_BOTH, ["Authorization", `Bearer ${token}`]];
}

let server: ScriptedServer;
let local: Certificate; // for a name
let address: Certificate; // for an address

beforeAll(() => {
  local = makeCertificate("DNS:localhost", "DNS:mcp.test");
  address = makeCertificate("IP:127.0.0.1");
});

beforeEach(async () => {
  server = await startScripted();
});

afterEach(() => {
  stopGateways();
  server.close();
});

describe("TLS at our door", () => {
  test("clients come by https, and by nothing else", async () => {
    const gateway = await startGateway([
      "--upstream",
      server.url,
      "--tls-cert",
      local.certFile,
      "--tls-key",
      local.keyFile,
    ]);
    expect(gateway.stderr()).toContain(`listening url="https://127.0.0.1:${gateway.port}/mcp"`);
    const place = { port: gateway.port, ca: local.cert };
    expect((await ask(place, hello)).status).toBe(200);
    expect((await ask(place, { ...hello, host: "evil.example" })).status).toBe(403);
    // Who speaks plainly is not understood, and harms nobody.
    expect(await converse({ port: gateway.port }, ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])).toEqual([]);
    expect((await ask(place, hello)).status).toBe(200);
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });

  test.each([
    [() => [local.certFile, address.keyFile], "Error: Cannot use the certificate or its key\n"],
    [() => [local.keyFile, local.certFile], "Error: Cannot use the certificate or its key\n"],
    [() => ["/nowhere/cert.pem", local.keyFile], "Error: Cannot read /nowhere/cert.pem\n"],
  ])("what is no certificate with its key is refused (%#)", async (files, message) => {
    const [cert, key] = files();
    const { code, stderr } = await refuseToStart([
      "--upstream",
      server.url,
      "--listen",
      "0",
      "--tls-cert",
      cert,
      "--tls-key",
      key,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("PRIVATE");
  });

  test("one without the other is a mistake", async () => {
    const { code, stderr } = await refuseToStart([
      "--upstream",
      server.url,
      "--listen",
      "0",
      "--tls-cert",
      local.certFile,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain("A certificate needs its key");
  });
});

async function by(certificate: Certificate, host: string, options: string[]) {
  const secure = await startScripted({ tls: certificate });
  const url = `https://${host}:${secure.port}/mcp`;
  return { secure, args: ["--upstream", url, ...options] };
}

describe("a server by https", () => {
  test.each([
    ["an address", () => address, "127.0.0.1"],
    ["a name", () => local, "localhost"],
  ])("is trusted with --ca when its certificate is for %s", async (_, certificate, host) => {
    const { secure, args } = await by(certificate(), host, ["--ca", certificate().certFile]);
    const gateway = await startGateway(args);
    expect((await ask(gateway, hello)).status).toBe(200);
    expect(secure.heard.at(-1)?.header("host")).toBe(`${host}:${secure.port}`);
    secure.close();
  });

  test.each([
    ["not known", () => address, "127.0.0.1", () => []],
    ["for a name, and it is asked by its address", () => local, "127.0.0.1", () => ["--ca", local.certFile]],
    ["for an address, and it is asked by a name", () => address, "localhost", () => ["--ca", address.certFile]],
    ["another than the one we know", () => local, "localhost", () => ["--ca", address.certFile]],
  ])("is refused when its certificate is %s", async (_, certificate, host, options) => {
    const { secure, args } = await by(certificate(), host, options());
    const { code, stderr } = await refuseToStart([...args, "--listen", "0", "--log-level", "error"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: Failed to connect to upstream MCP at https:.*\nInvalid response: [A-Z_]+\n$/);
    expect(secure.heard).toEqual([]);
    secure.close();
  });

  test("that speaks no TLS, or hangs up in the middle of it, is no server", async () => {
    for (const rude of [server, null]) {
      const hangsUp = createTcpServer((socket) => socket.once("data", () => socket.destroy()));
      await new Promise<void>((resolve) => void hangsUp.listen(0, "127.0.0.1", resolve));
      const port = rude?.port ?? (hangsUp.address() as AddressInfo).port;
      const url = `https://127.0.0.1:${port}/mcp`;
      const { code, stderr } = await refuseToStart(["--upstream", url, "--listen", "0", "--connect-timeout", "3s"]);
      expect(code).toBe(1);
      expect(stderr).toContain(`Error: Failed to connect to upstream MCP at ${url}\n`);
      hangsUp.close();
    }
  });

  test("--ca that cannot be read is named", async () => {
    const { code, stderr } = await refuseToStart([
      "--upstream",
      "https://localhost:1",
      "--ca",
      "/nowhere/ca.pem",
      "--listen",
      "0",
    ]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Error: Cannot read /nowhere/ca.pem\nGive --ca a PEM file with certificates\n",
    });
  });
});

describe("a proxy that the environment names", () => {
  const asked: { line: string; head: string }[] = [];
  const open: Socket[] = [];
  let status = "200 Connection established";

  /** Takes everybody to the server, whatever they ask for. */
  function serveTunnel(socket: Socket, target: () => number): void {
    open.push(socket);
    socket.on("error", () => {});
    let head = "";
    const onData = (chunk: Buffer): void => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData);
      asked.push({ line: head.slice(0, head.indexOf("\r\n")), head });
      socket.write(`HTTP/1.1 ${status}\r\nX-Secret: proxy-secret\r\n\r\n`);
      if (!status.startsWith("2")) return void socket.end();
      const onward = connect(target(), "127.0.0.1");
      onward.on("error", () => {});
      socket.pipe(onward).pipe(socket);
    };
    socket.on("data", onData);
  }

  async function startProxy(target: () => number, tls?: Certificate): Promise<number> {
    const onSocket = (socket: Socket): void => serveTunnel(socket, target);
    const proxy = tls === undefined ? createTcpServer(onSocket) : createTlsServer(tls, onSocket);
    await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
    proxy.unref();
    return (proxy.address() as AddressInfo).port;
  }

  const none = {
    HTTP_PROXY: "",
    HTTPS_PROXY: "",
    ALL_PROXY: "",
    http_proxy: "",
    https_proxy: "",
    all_proxy: "",
    NO_PROXY: "",
    no_proxy: "",
  };
  const quiet = ["--listen", "0", "--log-level", "error", "--connect-timeout", "5s"];

  beforeEach(() => {
    asked.length = 0;
    status = "200 Connection established";
  });
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy();
  });

  test.each(["HTTP_PROXY", "http_proxy", "ALL_PROXY"])("%s is used, with its name and password", async (name) => {
    const port = await startProxy(() => server.port);
    const env = { ...none, [name]: `http://me:pa%3Ass@127.0.0.1:${port}` };
    // Where both are set, small letters win, also over what is empty there.
    if (name !== "http_proxy")
      for (const each of ["http_proxy", "all_proxy"]) delete (env as Record<string, string>)[each];
    const gateway = await startGateway(["--upstream", "http://mcp.test:8080/mcp", "--log-level", "debug"], env);
    expect((await ask(gateway, hello)).status).toBe(200);
    expect(asked[0].line).toBe("CONNECT mcp.test:8080 HTTP/1.1");
    expect(asked[0].head).toContain(`Proxy-Authorization: Basic ${Buffer.from("me:pa:ss").toString("base64")}\r\n`);
    const heard = server.heard.at(-1);
    expect(heard?.header("host")).toBe("mcp.test:8080");
    expect(heard?.header("proxy-authorization")).toBeUndefined();
    expect(gateway.stderr()).not.toMatch(/pa%3Ass|pa:ss|bWU6/);
  });

  test.each(["mcp.test", "*", ".test", "x, mcp.test:8080", "*.test", "MCP.TEST"])("NO_PROXY=%s", async (list) => {
    const port = await startProxy(() => server.port);
    const env = { ...none, HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: list };
    const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !/^(http|no)_proxy$/.test(name)));
    const { code, stderr } = await refuseToStart(["--upstream", "http://mcp.test:8080/mcp", ...quiet], clean);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nNo such host(?:: the name server did not answer)?\n$/);
    expect(asked).toEqual([]);
  });

  test.each(["mcp.test:81", "cp.test", "test.mcp", "mcp.test.example"])("NO_PROXY=%s names others", async (list) => {
    const port = await startProxy(() => server.port);
    const env = { HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: list };
    const gateway = await startGateway(["--upstream", "http://mcp.test:8080/mcp"], env);
    expect((await ask(gateway, hello)).status).toBe(200);
  });

  test("servers on this machine need none", async () => {
    const gateway = await startGateway(["--upstream", server.url], { HTTP_PROXY: "http://127.0.0.1:1" });
    expect((await ask(gateway, hello)).status).toBe(200);
  });

  test("HTTPS_PROXY leads to servers by https, and does not see what is said", async () => {
    const secure = await startScripted({ tls: local });
    for (const tls of [undefined, local]) {
      const port = await startProxy(() => secure.port, tls);
      const env = { HTTPS_PROXY: `${tls === undefined ? "http" : "https"}://localhost:${port}` };
      const gateway = await startGateway(["--upstream", "https://mcp.test/mcp", "--ca", local.certFile], env);
      expect((await ask(gateway, hello)).status).toBe(200);
      expect(asked.at(-1)?.line).toBe("CONNECT mcp.test:443 HTTP/1.1");
      expect(asked.at(-1)?.head).not.toContain("initialize");
      gateway.kill("SIGKILL");
    }
    secure.close();
  });

  test("one that refuses says so by its status, and no more", async () => {
    const port = await startProxy(() => server.port);
    status = "407 Proxy Authentication Required";
    const env = { HTTP_PROXY: `http://127.0.0.1:${port}` };
    const { code, stderr } = await refuseToStart(["--upstream", "http://mcp.test/mcp", ...quiet], env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        "Error: Failed to connect to upstream MCP at http://mcp.test/mcp\nConnection refused by the proxy, status 407\n",
    });
  });

  test("one that is none is named by its variable, without its password", async () => {
    for (const value of ["socks5://me:secret@127.0.0.1:1", "http://me:secret@[", "ftp://x"]) {
      const { code, stderr } = await refuseToStart(["--upstream", "http://mcp.test/mcp", ...quiet], {
        HTTP_PROXY: value,
      });
      expect(code).toBe(1);
      expect(stderr).toContain("HTTP_PROXY does not name a usable proxy");
      expect(stderr).not.toContain("secret");
    }
  });
});

describe("headers for the server", () => {
  test("variables are filled in, and a client cannot add to them", async () => {
    const gateway = await startGateway(
      [
        "--upstream",
        server.url,
        "--header",
        "X-Key: ${MY_KEY}",
        "--header",
        "Authorization: Bearer $MY_KEY",
        "--log-level",
        "debug",
      ],
      { MY_KEY: "hush-hush" },
    );
    await ask(gateway, {
      body: HELLO,
      headers: [...JSON_BOTH, ["x-key", "mine"], ["Authorization", "Bearer mine"], ["X-Other", "o"]],
    });
    const heard = server.heard.at(-1);
    expect(heard?.header("x-key")).toBe("hush-hush");
    expect(heard?.header("authorization")).toBe("Bearer hush-hush");
    expect(heard?.header("x-other")).toBe("o");
    expect(gateway.stderr()).not.toContain("hush-hush");
  });

  test.each([
    [["--header", "X-Key: ${NOT_SET_AT_ALL}"], "Error: Variable NOT_SET_AT_ALL is not set\n"],
    [["--header", "X-Key: $NOT_SET_AT_ALL"], "Error: Variable NOT_SET_AT_ALL is not set\n"],
    [["--header", "X Key: hush-hush"], "Error: Not a header"],
    [["--header", "hush-hush"], "Error: Not a header"],
    [["--header", "X-Key: ${EVIL}"], "Error: The value of header X-Key cannot be sent\n"],
    [["--header", "Host: evil.example"], "Error: Header Hostcannot be set\n"],
    [["--header", "Content-Length: 1"], "Error: Header Content-Lengthcannot be set\n"],
  ])("%j is a mistake", async (options, message) => {
    const { code, stderr } = await refuseToStart(["--upstream", server.url, "--listen", "0", ...options], {
      EVIL: "x\r\nHost: evil.example",
    });
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(server.heard).toEqual([]);
  });

  test("name, password and query of the URL go to the server and nowhere else", async () => {
    const url = server.url.replace("http://", "http://me:p%40ss%@") + "?key=hush-hush";
    const gateway = await startGateway(["--upstream", url, "--log-level", "debug"]);
    await ask(gateway, hello);
    await ask(gateway, { body: HELLO, headers: [...JSON_BOTH, ["Authorization", "Bearer mine"]] });
    for (const heard of server.heard) {
      expect(heard.path).toBe("/mcp?key=hush-hush");
      expect(heard.header("authorization")).toBe(`Basic ${Buffer.from("me:p%40ss%").toString("base64")}`);
    }
    server.close();
    await gateway.ended;
    expect(gateway.stderr()).toContain("/mcp?***");
    expect(gateway.stderr()).not.toMatch(/hush|p%40ss|p@ss/);
  });

  test.each(["", "/mcp?key=hush-hush"])("nor are they told when there is no server%s", async (path) => {
    server.close();
    const url = `http://me:hush-hush@127.0.0.1:${server.port}${path}`;
    const { stderr } = await refuseToStart(["--upstream", url, "--listen", "0", "--log-level", "debug"]);
    expect(stderr).toContain(`Failed to connect to upstream MCP at http://***@127.0.0.1:${server.port}`);
    expect(stderr).not.toContain("hush");
  });

  test.each(["ftp://me:hush-hush@host", "me:hush-hush@host", "http://", "//host?hush-hush", "localhost:3000"])(
    "%s is no URL of a server",
    async (url) => {
      const { code, stderr } = await refuseToStart(["--upstream", url, "--listen", "0"]);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^Error: Not an upstream MCP server: .*\nWrite a URL that begins with http:\/\/ or https:\/\/\n$/,
      );
      expect(stderr).not.toContain("hush");
    },
  );
});

/** A challenge, taken apart. */
function challengeOf({ headers }: Answer): Record<string, string> {
  const [scheme, ...rest] = headers["www-authenticate"].split(" ");
  const parameters = [...rest.join(" ").matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]);
  return { scheme, ...Object.fromEntries(parameters) };
}

describe("--auth-tokens", () => {
  const folder = mkdtempSync(join(tmpdir(), "http-trust-"));
  const file = join(folder, "tokens");
  writeFileSync(file, "# who may come in\nada aaaaaaaaaaaaaaaaaaaa\nbob bbbbbbbbbbbbbbbbbbbb\n", { mode: 0o600 });
  let gateway: Gateway;

  beforeEach(async () => {
    gateway = await startGateway(["--upstream", server.url, "--auth-tokens", file, "--log-level", "debug"]);
    server.heard.length = 0;
  });

  test("who brings none, or a wrong one, hears where to get one", async () => {
    const host = `localhost:${gateway.port}`;
    for (const target of ["/mcp", "/sse", "/messages", "/other"]) {
      for (const method of ["POST", "GET", "DELETE"]) {
        const answer = await ask(gateway, { method, target, host, headers: JSON_BOTH });
        expect([target, method, answer.status]).toEqual([target, method, 401]);
        expect(challengeOf(answer)).toEqual({
          scheme: "Bearer",
          resource_metadata: `http://${host}/.well-known/oauth-protected-resource/mcp`,
        });
      }
    }
    const wrong = await ask(gateway, { body: HELLO, headers: bearing("cccccccccccccccccccc") });
    expect([wrong.status, challengeOf(wrong)["error"]]).toEqual([401, "invalid_token"]);
    for (const headers of [[["Authorization", "Basic YTpi"]], [["Authorization", "aaaaaaaaaaaaaaaaaaaa"]]] as const)
      expect((await ask(gateway, { body: HELLO, headers: [...JSON_BOTH, ...headers] })).status).toBe(401);
    expect((await ask(gateway, { target: "/mcp?access_token=aaaaaaaaaaaaaaaaaaaa", ...hello })).status).toBe(401);
    expect(server.heard).toEqual([]);
  });

  test("the metadata is ours and open to all; health is, too", async () => {
    const host = `localhost:${gateway.port}`;
    for (const path of ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]) {
      const answer = await ask(gateway, { method: "GET", target: path, host });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toEqual({ resource: `http://${host}/mcp`, bearer_methods_supported: ["header"] });
      expect((await ask(gateway, { method: "POST", target: path })).status).toBe(405);
      expect((await ask(gateway, { method: "GET", target: path, host: "evil.example" })).status).toBe(403);
    }
    expect((await ask(gateway, { method: "GET", target: "/healthz" })).status).toBe(200);
    // The server's own is not reached: it would name somebody else's tokens.
    const other = "/.well-known/oauth-authorization-server";
    expect((await ask(gateway, { method: "GET", target: other, headers: bearing("a".repeat(20)) })).status).toBe(404);
    expect(server.heard).toEqual([]);
  });

  test("the token stops here, and is in no log", async () => {
    const { status } = await ask(gateway, { body: HELLO, headers: bearing("aaaaaaaaaaaaaaaaaaaa") });
    expect(status).toBe(200);
    expect(server.heard.at(-1)?.header("authorization")).toBeUndefined();
    expect(gateway.stderr()).not.toContain("aaaaaaaaaaaaaaaaaaaa");
  });

  test("a session of the older transport belongs to who opened it", async () => {
    const { open } = await import("../support/raw-http.ts");
    const stream = await open(gateway, { method: "GET", target: "/sse", headers: bearing("aaaaaaaaaaaaaaaaaaaa") });
    await stream.hears("\n\n");
    const target = /data: (\S+)/.exec(stream.text())?.[1] ?? "";
    expect((await ask(gateway, { target, body: HELLO, headers: bearing("bbbbbbbbbbbbbbbbbbbb") })).status).toBe(404);
    expect((await ask(gateway, { target, body: HELLO, headers: bearing("aaaaaaaaaaaaaaaaaaaa") })).status).toBe(202);
    stream.socket.destroy();
  });

  test("with tokens the whole network may come", async () => {
    const wide = await startGateway(["--listen", "0.0.0.0:0", "--upstream", server.url, "--auth-tokens", file]);
    expect((await ask(wide, hello)).status).toBe(401);
    expect((await ask(wide, { body: HELLO, headers: bearing("aaaaaaaaaaaaaaaaaaaa") })).status).toBe(200);
  });

  test("a file that others may read is refused", async () => {
    const open = join(folder, "open");
    writeFileSync(open, "ada aaaaaaaaaaaaaaaaaaaa\n", { mode: 0o644 });
    const { code, stderr } = await refuseToStart(["--upstream", server.url, "--listen", "0", "--auth-tokens", open]);
    expect(code).toBe(1);
    expect(stderr).toContain(`Error: Others may read the tokens in ${open}\n`);
    expect(stderr).not.toContain("aaaaa");
  });
});

describe("--auth-jwks", () => {
  const ISSUER = "https://issuer.example";
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let others: Awaited<ReturnType<typeof generateKeyPair>>;
  let jwks: string;
  let keyServer: ReturnType<typeof createServer>;
  let gateway: Gateway;

  beforeAll(async () => {
    keys = await generateKeyPair("ES256");
    others = await generateKeyPair("ES256");
    const set = JSON.stringify({
      keys: [{ ...(await exportJWK(keys.publicKey)), kid: "k", alg: "ES256", use: "sig" }],
    });
    keyServer = createServer((_, response) => response.setHeader("Content-Type", "application/json").end(set));
    await new Promise<void>((resolve) => void keyServer.listen(0, "127.0.0.1", resolve));
    jwks = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`;
  });
  afterAll(() => keyServer.close());
  beforeEach(async () => {
    const options = ["--auth-jwks", jwks, "--auth-issuer", ISSUER, "--auth-audience", "http://localhost/mcp"];
    gateway = await startGateway(["--upstream", server.url, ...options]);
    server.heard.length = 0;
  });

  const sign = (
    subject: string,
    { audience = "http://localhost/mcp", issuer = ISSUER, key = keys.privateKey, expires = "1h" } = {},
  ) =>
    new SignJWT({ sub: subject })
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime(expires)
      .sign(key);

  test("a token that was signed for us lets in, and stops here", async () => {
    const { status } = await ask(gateway, { body: HELLO, headers: bearing(await sign("ada")) });
    expect(status).toBe(200);
    expect(server.heard.at(-1)?.header("authorization")).toBeUndefined();
  });

  test("one for somebody else, of somebody else, by somebody else, or of yesterday does not", async () => {
    const bad = [
      sign("ada", { audience: "http://other/mcp" }),
      sign("ada", { issuer: "https://evil.example" }),
      sign("ada", { key: others.privateKey }),
      sign("ada", { expires: "-1h" }),
      Promise.resolve(
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"ada"}').toString("base64url")}.`,
      ),
    ];
    for (const token of await Promise.all(bad)) {
      const answer = await ask(gateway, { body: HELLO, headers: bearing(token) });
      expect([answer.status, challengeOf(answer)["error"]]).toEqual([401, "invalid_token"]);
    }
    expect(server.heard).toEqual([]);
  });

  test("the metadata says who gives out tokens, and a session belongs to its subject", async () => {
    const answer = await ask(gateway, { method: "GET", target: "/.well-known/oauth-protected-resource/mcp" });
    expect(JSON.parse(answer.body)).toMatchObject({
      authorization_servers: [ISSUER],
      resource: "http://localhost/mcp",
    });
    const [ada, bob] = await Promise.all([sign("ada"), sign("bob")]);
    const opened = await ask(gateway, { body: HELLO, headers: bearing(ada) });
    const session = ["Mcp-Session-Id", opened.headers["mcp-session-id"]] as const;
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect((await ask(gateway, { body: ping, headers: [...bearing(bob), session] })).status).toBe(404);
    expect((await ask(gateway, { body: ping, headers: [...bearing(await sign("ada")), session] })).status).toBe(200);
  });

  test("keys by http from elsewhere are refused", async () => {
    const options = ["--auth-jwks", "http://keys.example/", "--auth-issuer", ISSUER, "--auth-audience", "x"];
    const { code, stderr } = await refuseToStart(["--upstream", server.url, "--listen", "0", ...options]);
    expect(code).toBe(1);
    expect(stderr).toContain("not at an https URL");
  });
});
