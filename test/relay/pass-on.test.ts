import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../src/action/outcome.ts";
import { whole } from "../../src/message/message.ts";
import { passOn } from "../../src/relay/pass-on.ts";
import type { Passage } from "../../src/relay/passage.ts";
import { BODIES } from "../../src/bridge/server-end.ts";
import { denying, OPEN, stage } from "../support/play.ts";

const payload = (text: string): ReturnType<typeof whole> => whole(Buffer.from(text));
const PING = payload('{"jsonrpc":"2.0","id":7,"method":"ping"}');
const PONG = payload('{"jsonrpc":"2.0","id":7,"result":{}}');
const CALL = payload('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}');
const FAULT = '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal proxy error"}}';

/** Carries messages, the first `failures` of them in vain. */
function carrier(failures: number) {
  const carried: string[] = [];
  let left = failures;
  const carry = ({ onward, back }: Outcome): void => {
    if (left-- > 0) throw new Error("a secret of ours");
    carried.push(`${String(onward)} | ${String(back)}`);
  };
  return { carried, carry };
}

describe("a message that cannot be carried out", () => {
  test("is a request: its sender is told, the log too, and its id is spent: part of it may have left", () => {
    const { passage, session, troubles } = stage(OPEN);
    const { carried, carry } = carrier(1);
    passOn(passage, PING, "up", BODIES, carry);
    expect(carried).toEqual([`nothing | ${FAULT}`]);
    expect(troubles).toEqual(["internal"]);
    expect(session.calls.up.size()).toBe(0);
    passOn(passage, PING, "up", BODIES, carry);
    expect(carried[1]).toContain("the id belongs to a request that was cancelled");
  });

  test("is an answer: whoever waits is told", () => {
    const { passage } = stage(OPEN);
    const { carried, carry } = carrier(1);
    passOn(passage, PING, "up", BODIES, () => {});
    passOn(passage, PONG, "down", BODIES, carry);
    expect(carried).toEqual([`${FAULT} | null`]);
  });

  test("is a batch: all who wait are told", () => {
    const { passage } = stage(OPEN);
    const { carried, carry } = carrier(1);
    const hello = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}';
    passOn(passage, payload(hello), "up", BODIES, () => {});
    const welcome = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","capabilities":{}}}';
    passOn(passage, payload(welcome), "down", BODIES, () => {});
    const other = PING.bytes.toString().replace("7", "8");
    passOn(passage, payload(`[${PING.bytes.toString()},${other}]`), "up", BODIES, carry);
    expect(carried).toEqual([`nothing | [${FAULT},${FAULT.replace("7", "8")}]`]);
  });

  test("is a refusal of one that waited: its sender is told all the same, and nothing goes unhandled", async () => {
    const { passage, troubles, wait } = stage(denying("^x$"), { toolListMs: 5 });
    const { carried, carry } = carrier(1);
    passOn(passage, CALL, "up", BODIES, carry);
    wait(10);
    await delay(30);
    expect(carried).toEqual([`nothing | ${FAULT}`]);
    expect(troubles).toContain("internal");
  });

  test("is one that nobody can be told about: nothing more comes of it than a line in the log", () => {
    const { passage, troubles } = stage(OPEN);
    const { carried, carry } = carrier(2);
    passOn(passage, PING, "up", BODIES, carry);
    expect(carried).toEqual([]);
    expect(troubles).toEqual(["internal", "internal"]);
  });
});

test("a message whose judgement fails while it waits is refused, and its sender is told", async () => {
  const { passage, troubles } = stage(OPEN);
  const failing: Passage = { ...passage, pass: () => Promise.reject(new Error("a secret of ours")) };
  const { carried, carry } = carrier(0);
  passOn(failing, PING, "up", BODIES, carry);
  await delay(0);
  expect(carried).toEqual([`nothing | ${FAULT}`]);
  expect(troubles).toEqual(["internal"]);
});
