import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { hostname } from "node:os";
import { afterEach, expect, test } from "vitest";
import { createFetch, MAX_BODY_BYTES } from "../../src/link/fetch.ts";
import { nearnessOf } from "../../src/link/reach.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(body: string): Promise<string> {
  const server = createServer((_, response) => response.end(body));
  closing.push(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const GET = { method: "GET", headers: {} };

test("a server that is far away cannot send us to what is near", async () => {
  const host = await serve("{}");
  const fetch = createFetch({ nearest: 0, ca: null, dial: null });
  for (const url of [
    `http://${host}`,
    `http://localhost:${host.split(":")[1]}`,
    "http://[::1]:1",
    "http://169.254.169.254",
  ]) {
    await expect(fetch(url, GET), url).rejects.toThrow("on this machine");
  }
  await expect(fetch("https://10.1.2.3/", GET)).rejects.toThrow("in a private network");
  await expect(createFetch({ nearest: 1, ca: null, dial: null })(`http://${host}`, GET)).rejects.toThrow(
    "on this machine",
  );
});

// The own name of a machine leads to an address of its own, mostly.
test.runIf((await nearnessOf(hostname())) > 0)("nor can it by a name that leads there", async () => {
  const fetch = createFetch({ nearest: 0, ca: null, dial: null });
  await expect(fetch(`http://${hostname()}:1/`, GET)).rejects.toThrow("the server sent us to an address");
});

test("an answer may be so long and no longer", async () => {
  const fetch = createFetch({ nearest: 2, ca: null, dial: null });
  const most = await fetch(`http://${await serve("x".repeat(MAX_BODY_BYTES))}`, GET);
  expect(await most.text()).toHaveLength(MAX_BODY_BYTES);
  await expect(fetch(`http://${await serve("x".repeat(MAX_BODY_BYTES + 1))}`, GET)).rejects.toThrow("says too much");
});

test("a server that is not there is said to be so", async () => {
  const fetch = createFetch({ nearest: 2, ca: null, dial: null });
  await expect(fetch("http://127.0.0.1:1/x?secret", GET)).rejects.toThrow(
    "Login failed: http://127.0.0.1:1/x cannot be reached (ECONNREFUSED)",
  );
});

test("another way to a server is taken where there is one", async () => {
  const [address, port] = (await serve('{"here":true}')).split(":");
  const asked: string[] = [];
  const fetch = createFetch({
    nearest: 0,
    ca: null,
    dial(url) {
      asked.push(url.href);
      return Promise.resolve(connect(Number(port), address));
    },
  });
  const response = await fetch("https://issuer.example/x", GET);
  expect(await response.json()).toEqual({ here: true });
  expect(asked).toEqual(["https://issuer.example/x"]);
});

test("a server that drips is left in the middle", async () => {
  const server = createServer((_, response) => {
    const drip = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(drip));
  });
  closing.push(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const fetch = createFetch({ nearest: 2, ca: null, dial: null, timeoutMs: 200 });
  const { port } = server.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/`, GET)).rejects.toThrow("does not answer");
});
