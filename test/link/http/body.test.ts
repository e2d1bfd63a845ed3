import { afterEach, describe, expect, test } from "vitest";
import { type Body, readBody } from "../../../src/link/http/body.ts";
import type { Door } from "../../../src/link/http/door.ts";
import { replyEmpty, replyJson } from "../../../src/link/http/reply.ts";
import { answerMemory, MAX_REQUEST_MEMORY, MAX_UNCOUNTED_BYTES, requestMemory } from "../../../src/link/memory.ts";
import { openTestDoor } from "../../support/door.ts";
import { ask, dial, write } from "../../support/raw-http.ts";
import { becomes } from "../../support/scripted-http.ts";

let door: Door;

afterEach(() => door.close());

const LIMIT = 1_000_000;

/** A door that reads bodies and answers with their size, or with why there is none. What it was told is kept. */
async function begin(take: (body: Body, sent: () => void, answer: () => void) => void): Promise<void> {
  door = await openTestDoor({
    onVisit(visit) {
      readBody(visit, visit.head.contentLength, LIMIT, (body, sent) =>
        take(body, sent, () => replyEmpty(visit.response, 202, [])),
      );
    },
  });
}

describe("a body", () => {
  test("of exactly the limit is taken, and one byte more is too large, with and without a length", async () => {
    const taken: (number | string)[] = [];
    await begin((body, _, answer) => {
      taken.push(typeof body === "string" ? body : body.length);
      answer();
    });
    for (const size of [LIMIT, LIMIT + 1]) {
      const body = Buffer.alloc(size, "x");
      await ask({ port: door.port }, { body });
      const chunked = Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);
      await ask({ port: door.port }, { body: chunked, headers: [["Transfer-Encoding", "chunked"]] });
    }
    expect(taken).toEqual([LIMIT, LIMIT, "too-large", "too-large"]);
    await becomes(() => requestMemory.taken === 0);
  });

  test("is counted until it was sent on, or its request is over", async () => {
    const waiting: { sent: () => void; answer: () => void }[] = [];
    await begin((_, sent, answer) => void waiting.push({ sent, answer }));
    const body = Buffer.alloc(LIMIT, "x");
    const answers = [ask({ port: door.port }, { body }), ask({ port: door.port }, { body })];
    await becomes(() => waiting.length === 2);
    expect(requestMemory.taken).toBe(2 * LIMIT);
    waiting[0].sent();
    expect(requestMemory.taken).toBe(LIMIT);
    waiting[1].answer();
    await becomes(() => requestMemory.taken === 0);
    waiting[0].answer();
    await Promise.all(answers);
    expect(requestMemory.taken).toBe(0);
  });

  test("that is small is not counted", async () => {
    let taken = -1;
    await begin((_, __, answer) => {
      taken = requestMemory.taken;
      answer();
    });
    await ask({ port: door.port }, { body: Buffer.alloc(MAX_UNCOUNTED_BYTES / 2, "x") });
    expect(taken).toBe(0);
  });

  test("whose client goes in the middle of it is forgotten", async () => {
    await begin(() => {});
    const socket = await dial({ port: door.port });
    socket.write(write({ headers: [["Content-Length", String(LIMIT)]] }));
    socket.write(Buffer.alloc(LIMIT / 2, "x"));
    await becomes(() => requestMemory.taken >= LIMIT / 2);
    socket.destroy();
    await becomes(() => requestMemory.taken === 0);
  });

  test("that there is no memory for waits until there is", async () => {
    let answered = 0;
    await begin((_, __, answer) => {
      answered++;
      answer();
    });
    // Somebody else has taken all of it, and moves a little now and then.
    const others = requestMemory.claim({ cut: () => {} });
    others.weigh(1.5 * MAX_REQUEST_MEMORY);
    const answer = ask({ port: door.port }, { body: Buffer.alloc(LIMIT, "x") });
    const small = await ask({ port: door.port }, { body: "small" });
    expect([small.status, answered]).toEqual([202, 1]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(1);
    others.release();
    expect((await answer).status).toBe(202);
  });
});

/** Sends large chunks, so that the system gives the connection a large buffer, and then one-byte chunks. */
async function sendTiny(onPiece: () => void): Promise<number | string> {
  let taken: number | string = "";
  door = await openTestDoor({
    onVisit(visit) {
      visit.request.on("data", onPiece);
      readBody(visit, null, 8 << 20, (body) => {
        taken = typeof body === "string" ? body : body.length;
        replyEmpty(visit.response, 202, []);
      });
    },
  });
  const large = `100000\r\n${"x".repeat(1 << 20)}\r\n`.repeat(4);
  const body = Buffer.from(`${large}${"1\r\nx\r\n".repeat(60_000)}0\r\n\r\n`);
  await ask({ port: door.port }, { body, headers: [["Transfer-Encoding", "chunked"]] });
  return taken;
}

describe("a body of tiny chunks", () => {
  test("is read one read at a time, and others have their turn in between", async () => {
    let pieces = 0;
    let most = 0;
    const size = await sendTiny(() => {
      if (pieces++ > 0) return;
      setImmediate(() => {
        most = Math.max(most, pieces);
        pieces = 0;
      });
    });
    expect(size).toBe((4 << 20) + 60_000);
    // One read has at most 64 kB, and a piece takes up six bytes of it.
    expect(most).toBeLessThan(20_000);
  });

  test("waits for memory like any other", async () => {
    const others = requestMemory.claim({ cut: () => {} });
    let pieces = 0;
    const size = sendTiny(() => {
      // The memory is gone while the tiny chunks arrive, and there again a little later.
      if (++pieces !== 5000) return;
      others.weigh(2 * MAX_REQUEST_MEMORY);
      setTimeout(() => {
        atLast = pieces;
        others.release();
      }, 100);
    });
    let atLast = 0;
    expect(await size).toBe((4 << 20) + 60_000);
    expect(atLast).toBeLessThan(30_000);
  });
});

describe("a large answer", () => {
  test("is counted until its client has read it, or is gone", async () => {
    const large = Buffer.alloc(8 << 20, "x");
    door = await openTestDoor({ onVisit: ({ response }) => replyJson(response, 200, large, []) });
    const lazy = await dial({ port: door.port });
    lazy.pause();
    lazy.write(write({ body: "" }));
    await becomes(() => answerMemory.taken === large.length);
    const answer = await ask({ port: door.port }, { body: "" });
    expect(answer.body.length).toBe(large.length);
    await becomes(() => answerMemory.taken === large.length);
    lazy.destroy();
    await becomes(() => answerMemory.taken === 0);
  });
});
