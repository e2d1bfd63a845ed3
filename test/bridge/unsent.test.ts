import { describe, expect, test } from "vitest";
import { createStreamableEnd } from "../../src/bridge/streamable-end.ts";
import { openSseEnd } from "../../src/bridge/sse-end.ts";
import type { ServerEnd, ServerListener } from "../../src/bridge/server-end.ts";
import { MAX_WAITING_BYTES } from "../../src/bridge/turnstile.ts";
import { ConnectionError } from "../../src/errors.ts";
import { parseAddress } from "../../src/link/upstream/address.ts";
import type { Pool, UpstreamListener, UpstreamRequest } from "../../src/link/upstream/pool.ts";
import { openMessage, whole } from "../../src/message/message.ts";
import { createCall } from "../../src/session/call.ts";

const address = parseAddress("http://127.0.0.1:1/mcp");

const listener: ServerListener = {
  message: () => {},
  lost: () => {},
  isWaiting: () => false,
  givenUp: () => {},
  trouble: () => {},
  isFull: false,
  whenReady: (resume) => resume(),
};

interface Sent extends UpstreamRequest {
  readonly listener: UpstreamListener;
}

/** A pool whose requests go nowhere. */
function createFakePool(): { pool: Pool; posts: Sent[] } {
  const posts: Sent[] = [];
  const pool: Pool = {
    send(request, upstream) {
      if (request.method === "GET") {
        const names = ["content-type"];
        queueMicrotask(() => {
          upstream.head({ status: 200, headers: ["Content-Type", "text/event-stream"], names });
          upstream.body(Buffer.from("event: endpoint\ndata: /messages\n\n"));
        });
      } else posts.push({ ...request, listener: upstream });
      return { abort: () => {}, pause: () => {}, resume: () => {} };
    },
    probe: () => Promise.resolve(true),
    close: () => {},
  };
  return { pool, posts };
}

const ENDS = {
  "Streamable HTTP": (pool: Pool): Promise<ServerEnd> =>
    Promise.resolve(
      createStreamableEnd({
        pool,
        path: "/mcp",
        headers: () => "",
        permit: () => Promise.resolve(false),
        schemaOf: () => null,
        listener,
        maxMessageBytes: 10_000_000,
        listens: false,
      }),
    ),
  "HTTP+SSE": (pool: Pool): Promise<ServerEnd> =>
    openSseEnd({ pool, address, headers: () => "", listener, maxMessageBytes: 10_000_000, onEnd: () => {} }),
};

/** Sends a request of so many bytes. */
function request(end: ServerEnd, bytes: number): void {
  const frame = '{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":""}}';
  const payload = Buffer.from(frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`));
  const about = openMessage(whole(payload), "up", "refuse");
  if (about.envelope.kind !== "request") throw new Error("not a request");
  const { id, method } = about.envelope;
  end.send(payload, about, [createCall(id, method, null, null, "stateful", 0, 0, null)]);
}

describe.each(Object.entries(ENDS))("of what was sent to a server of %s", (_, open) => {
  test("only so much may not have left before no more should come", async () => {
    const { pool, posts } = createFakePool();
    const end = await open(pool);
    request(end, MAX_WAITING_BYTES);
    expect(end.isFull).toBe(false);
    request(end, 100);
    expect(end.isFull).toBe(true);
    let isReady = false;
    end.whenReady(() => (isReady = true));
    posts[1].onSent?.();
    expect([end.isFull, isReady]).toEqual([false, true]);
  });

  test("what failed, or was answered before it had left, does not count any more", async () => {
    const { pool, posts } = createFakePool();
    const end = await open(pool);
    for (const finish of [
      ({ listener: heard }: Sent) => heard.failed(new ConnectionError("REFUSED", "", "")),
      ({ listener: heard }: Sent) => {
        heard.head({ status: 413, headers: [], names: [] });
        heard.done();
      },
    ]) {
      posts.length = 0;
      request(end, MAX_WAITING_BYTES + 1);
      expect(end.isFull).toBe(true);
      finish(posts[0]);
      expect(end.isFull).toBe(false);
      posts[0].onSent?.();
      expect(end.isFull).toBe(false);
    }
  });
});
