import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createPlain } from "node:net";
import { hostname } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { nearnessOf } from "../../src/link/reach.ts";
import { guardNear, TOO_NEAR } from "../../src/link/near.ts";
import { parseAddress } from "../../src/link/upstream/address.ts";
import { openConnection } from "../../src/link/upstream/connect.ts";
import { createWebhook, signBody, type Webhook, type WebhookOptions } from "../../src/link/webhook.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

type Handler = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

interface Served {
  readonly url: string;
  readonly heard: { readonly headers: IncomingMessage["headers"]; readonly body: Buffer }[];
  /** The most requests that were there at once. */
  readonly most: () => number;
}

async function serve(handle: Handler): Promise<Served> {
  const heard: Served["heard"] = [];
  let now = 0;
  let most = 0;
  const server = createServer((request, response) => {
    most = Math.max(most, ++now);
    response.on("close", () => now--);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      heard.push({ headers: request.headers, body });
      handle(request, body, response);
    });
  });
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook/s3cret?key=s3cret`, heard, most: () => most };
}

function hook(url: string, options: Partial<WebhookOptions> = {}): Webhook & { troubles: string[] } {
  const troubles: string[] = [];
  const webhook = createWebhook({
    url,
    timeoutMs: 1000,
    secret: null,
    allowPrivate: true,
    env: {},
    onTrouble: (text) => troubles.push(text),
    ...options,
  });
  closing.push(() => webhook.close());
  return { ...webhook, troubles };
}

const BODY = Buffer.from('{"method":"tools/call","big":9007199254740993}');
const text = (reply: Awaited<ReturnType<Webhook["ask"]>>): string =>
  "failure" in reply ? `failure: ${reply.failure}` : reply.body.toString("utf8");

describe("asking", () => {
  test("brings the body as it is, and back the answer", async () => {
    const { url, heard } = await serve((_, __, response) => response.end('{"action":"allow"}'));
    expect(text(await hook(url).ask(BODY))).toBe('{"action":"allow"}');
    expect(heard[0].body).toEqual(BODY);
    expect(heard[0].headers).toMatchObject({ "content-type": "application/json", "user-agent": "fairlead" });
    expect(heard[0].headers).not.toHaveProperty("fairlead-signature");
  });

  test("signs the time and the body with the secret", async () => {
    const { url, heard } = await serve((_, __, response) => response.end("{}"));
    await hook(url, { secret: "hush", now: () => 1_700_000_000_999 }).ask(BODY);
    const mac = createHmac("sha256", "hush")
      .update(`1700000000.${BODY.toString("utf8")}`)
      .digest("hex");
    expect(heard[0].headers["fairlead-signature"]).toBe(`t=1700000000,v1=${mac}`);
    expect(signBody("hush", BODY, 1_700_000_000_000)).toBe(`t=1700000000,v1=${mac}`);
  });

  test("takes a name and password from the URL", async () => {
    const { url, heard } = await serve((_, __, response) => response.end("{}"));
    await hook(url.replace("//", "//jo:pw@")).ask(BODY);
    expect(heard[0].headers.authorization).toBe(`Basic ${Buffer.from("jo:pw").toString("base64")}`);
  });

  test.each<[string, Handler, string]>([
    [
      "a redirect",
      (_, __, response) => response.writeHead(307, { location: "/other" }).end(),
      "answered with status 307",
    ],
    ["an error", (_, __, response) => response.writeHead(500).end('{"action":"allow"}'), "answered with status 500"],
    [
      "an encoding",
      (_, __, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"),
      "answered with a content encoding that was not requested",
    ],
    ["too much", (_, __, response) => response.end("x".repeat(1024 * 1024 + 1)), "sent a response that is too large"],
    ["nothing for too long", () => {}, "did not answer within 300 ms"],
    ["half an answer", (_, __, response) => response.write("{"), "did not answer within 300 ms"],
    ["a hang-up", (request) => request.socket.destroy(), "cannot be reached: Connection lost"],
    [
      "a cut answer",
      (request, __, response) => {
        response.writeHead(200, { "content-length": 10 });
        response.write("{");
        setTimeout(() => request.socket.destroy(), 20);
      },
      "cannot be reached: Connection lost",
    ],
  ])("hears %s as a failure", async (_, handle, failure) => {
    const { url, heard } = await serve(handle);
    const webhook = hook(url, { timeoutMs: 300 });
    expect(await webhook.ask(BODY)).toEqual({ failure });
    expect(heard).toHaveLength(1);
    expect(webhook.troubles).toHaveLength(1);
    expect(webhook.troubles.join("\n")).not.toContain("s3cret");
  });

  test("hears what is no HTTP, and nobody at all, as failures", async () => {
    const server = createPlain((socket) => socket.end("SSH-2.0-x\r\n"));
    closing.push(() => server.close());
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    expect(await hook(`http://127.0.0.1:${port}`).ask(BODY)).toEqual({ failure: "cannot be reached: Connection lost" });
    expect(await hook("http://127.0.0.1:1").ask(BODY)).toEqual({ failure: "cannot be reached: Connection refused" });
  });

  test("about something long may be answered as long", async () => {
    const { url } = await serve((_, body, response) => response.end(body));
    const long = Buffer.from(JSON.stringify("x".repeat(3_000_000)));
    expect(text(await hook(url, { timeoutMs: 5000 }).ask(long))).toBe(long.toString("utf8"));
  });

  test("can be given up, and the request with it", async () => {
    const { url, heard, most } = await serve(() => {});
    const webhook = hook(url, { timeoutMs: 10_000 });
    const leaving = new AbortController();
    const answer = webhook.ask(BODY, leaving.signal);
    await expect.poll(() => heard).toHaveLength(1);
    leaving.abort();
    expect(await answer).toEqual({ failure: "was cancelled" });
    expect(await webhook.ask(BODY, leaving.signal)).toEqual({ failure: "was cancelled" });
    expect(most()).toBe(1);
    expect(webhook.troubles).toEqual([]);
  });

  test("many at once come a few at a time, and none is lost", async () => {
    const { url, most } = await serve((_, body, response) => void setTimeout(() => response.end(body), 5));
    const webhook = hook(url, { timeoutMs: 10_000 });
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => webhook.ask(Buffer.from(`${index}`))));
    expect(answers.map(text)).toEqual(Array.from({ length: 100 }, (_, index) => `${index}`));
    expect(most()).toBeLessThanOrEqual(8);
  });

  test("more than can wait are told so at once", async () => {
    const { url } = await serve(() => {});
    const webhook = hook(url, { timeoutMs: 5000 });
    const answers = Array.from({ length: 1010 }, () => webhook.ask(BODY, new AbortController().signal));
    expect(await Promise.race(answers)).toEqual({ failure: "has too many requests waiting" });
    webhook.close();
    const failures = (await Promise.all(answers)).map(text);
    expect(failures.filter((one) => one === "failure: was closed")).toHaveLength(1008);
  });
});

describe("telling", () => {
  test("waits for nothing, and all of it arrives, a few at a time", async () => {
    const { url, heard, most } = await serve((_, __, response) => void setTimeout(() => response.end(), 5));
    const webhook = hook(url);
    for (let index = 0; index < 50; index++) expect(webhook.tell(Buffer.from(`${index}`))).toBe(true);
    await webhook.flush(5000);
    expect(heard).toHaveLength(50);
    expect(most()).toBeLessThanOrEqual(8);
  });

  test("does not hold up those who wait for an answer", async () => {
    const { url } = await serve((_, body, response) => {
      if (body.toString() === "ask") response.end("{}");
    });
    const webhook = hook(url, { timeoutMs: 2000 });
    for (let index = 0; index < 50; index++) webhook.tell(BODY);
    expect(text(await webhook.ask(Buffer.from("ask")))).toBe("{}");
  });

  test("keeps so much and no more, and says so once", async () => {
    const { url } = await serve(() => {});
    const webhook = hook(url, { timeoutMs: 10_000 });
    const big = Buffer.alloc(4 * 1024 * 1024, "x");
    expect([1, 2, 3, 4, 5, 6].map(() => webhook.tell(big))).toEqual([true, true, true, true, false, false]);
    const other = hook(url, { timeoutMs: 10_000 });
    const sent = Array.from({ length: 1100 }, () => other.tell(BODY)).filter(Boolean);
    expect(sent).toHaveLength(1000);
    expect(other.troubles).toEqual([
      expect.stringMatching(/^the webhook http:\/\/127\.0\.0\.1:\d+\/… has too many requests waiting$/),
    ]);
  });

  test("complains once a minute, with a count", async () => {
    const { url } = await serve((_, __, response) => response.writeHead(404).end());
    let time = 0;
    const webhook = hook(url, { now: () => time });
    for (let index = 0; index < 5; index++) webhook.tell(BODY);
    await webhook.flush(2000);
    expect(webhook.troubles).toEqual([expect.stringMatching(/answered with status 404$/)]);
    time = 61_000;
    webhook.tell(BODY);
    await webhook.flush(2000);
    expect(webhook.troubles[1]).toMatch(/answered with status 404 \(and 4 more like this\)$/);
  });

  test("is flushed within a time", async () => {
    const { url } = await serve(() => {});
    const webhook = hook(url, { timeoutMs: 10_000 });
    webhook.tell(BODY);
    const began = performance.now();
    await webhook.flush(50);
    expect(performance.now() - began).toBeLessThan(2000);
    webhook.close();
    await webhook.flush(10_000); // nothing is left
  });
});

describe("what is near is not reached", () => {
  test.each([
    "http://127.0.0.1:1/",
    "http://localhost/",
    "http://localhost./",
    "http://x.LOCALHOST/",
    "http://[::1]/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::7f00:1]/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
  ])("%s", (url) => {
    expect(() => hook(url, { allowPrivate: false })).toThrow(TOO_NEAR);
  });

  test("by a name either: the addresses that are checked are those that are used", async () => {
    const guard = guardNear(parseAddress("http://far.example"), {});
    const look = (all: boolean): Promise<unknown> =>
      new Promise((resolve) => {
        guard.lookup("localhost", { all }, (error, found) => resolve(error?.message ?? found));
      });
    expect(await look(true)).toBe(TOO_NEAR);
    expect(await look(false)).toBe(TOO_NEAR);
    const { url } = await serve(() => {});
    const address = parseAddress(url.replace("127.0.0.1", "far.example"));
    const asked: string[] = [];
    const socket = await openConnection(address, {
      timeoutMs: 1000,
      ca: null,
      env: {},
      lookup(name, options, callback) {
        asked.push(name);
        if (options.all === true) callback(null, [{ address: "127.0.0.1", family: 4 }]);
        else callback(null, "127.0.0.1", 4);
      },
    });
    expect(asked).toEqual(["far.example"]);
    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
  });

  test("nor through a proxy, where the name means something here", async () => {
    const proxied: string[] = [];
    const proxy = createPlain((socket) => {
      socket.on("error", () => {});
      socket.once("data", (chunk) => {
        proxied.push(chunk.toString("latin1").split("\r\n")[0]);
        socket.end("HTTP/1.1 403 no\r\n\r\n");
      });
    });
    closing.push(() => proxy.close());
    await new Promise<void>((resolve) => {
      proxy.listen(0, "127.0.0.1", resolve);
    });
    const env = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const far = hook("http://no-such-host.invalid/x", { allowPrivate: false, env });
    expect(await far.ask(BODY)).toEqual({ failure: "cannot be reached: Connection refused by the proxy, status 403" });
    expect(proxied).toEqual(["CONNECT no-such-host.invalid:80 HTTP/1.1"]);
    if ((await nearnessOf(hostname())) === 0) return;
    // The own name of a machine leads to an address of its own, mostly.
    const near = hook(`http://${hostname()}/x`, { allowPrivate: false, env });
    expect(await near.ask(BODY)).toEqual({ failure: TOO_NEAR });
    expect(proxied).toHaveLength(1);
  });
});

test("a URL that is none is not repeated: it may be a secret", () => {
  for (const url of ["ftp://s3cret@x", "s3cret", "http://"]) {
    expect(() => hook(url)).toThrow(
      expect.objectContaining({ code: "BAD_WEBHOOK", message: "The URL of a webhook is not valid" }),
    );
  }
});

test("closing leaves nothing open", async () => {
  const sockets = new Set<unknown>();
  const server = createServer((request, response) => {
    if (request.url === "/answers") response.end("{}");
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closing.push(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const quick = hook(`${base}/answers`);
  const slow = hook(`${base}/never`, { timeoutMs: 60_000 });
  await quick.ask(BODY);
  slow.tell(BODY);
  const answer = slow.ask(BODY);
  await expect.poll(() => sockets.size).toBe(3);
  quick.close();
  slow.close();
  expect(await answer).toEqual({ failure: "was closed" });
  await expect.poll(() => sockets.size).toBe(0);
  expect(slow.troubles).toEqual([]);
});
