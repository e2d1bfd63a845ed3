import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { composeEvent, followMessage, type HookEvent, readHookVerdict } from "../../src/rules/hook.ts";
import { splice } from "../../src/message/edit.ts";
import { openMessage, whole } from "../../src/message/message.ts";
import { messageText } from "../fuzz/json-texts.ts";
import { createRandom } from "../fuzz/random.ts";

const EVENT: HookEvent = {
  id: "e1",
  time: new Date(0),
  rule: 'r"1',
  direction: "up",
  method: "tools/call",
  tool: "read\u2028",
  session: null,
  identity: null,
  server: "npx server",
};

test("an event holds the message as it is spelled, on one line", () => {
  const bytes = Buffer.from('xx{"id":9007199254740993,\n "a":1.0}yy');
  const event = composeEvent(EVENT, { bytes, start: 2, end: bytes.length - 2, ascii: true }).toString("utf8");
  expect(event.endsWith(',"message":{"id":9007199254740993,  "a":1.0}}')).toBe(true);
  expect(event).not.toContain("\n");
  const { message, ...head } = JSON.parse(event) as Record<string, unknown>;
  expect(message).toEqual({ id: 9007199254740992, a: 1 });
  expect(head).toEqual({ ...EVENT, version: 1, time: "1970-01-01T00:00:00.000Z" });
  expect(JSON.parse(composeEvent(EVENT, null).toString("utf8"))).toEqual(head);
});

const read = (text: string | Buffer) => readHookVerdict(Buffer.from(text));

function followed(before: string, wanted: string): string {
  const message = openMessage(whole(Buffer.from(before)), "up", "allow");
  const other = whole(Buffer.from(wanted));
  const change = followMessage(message, { bytes: other.bytes, span: other });
  return "problem" in change ? `cannot: ${change.problem}` : splice(message, change.edits).toString("utf8");
}

describe("a verdict", () => {
  test("is one of three", () => {
    expect(read('{"action":"allow","reason":7}\n')).toEqual({ action: "allow" });
    expect(read(' { "action" : "block" } ')).toEqual({ action: "block", reason: null });
    expect(read('{"action":"block","reason":"n\\u001bo"}')).toEqual({ action: "block", reason: "n\\u001bo" });
    expect(read(`{"action":"block","reason":"${"x".repeat(9999)}"}`)).toMatchObject({ reason: `${"x".repeat(500)}…` });
    expect(read('{"action":"modify","message":{}}')).toMatchObject({
      action: "modify",
      message: { span: { start: 29, end: 31 } },
    });
  });

  test.each([
    ["", "the response is not valid JSON, or is ambiguous"],
    ["allow", "the response is not valid JSON, or is ambiguous"],
    ['{"action":"allow"}{"action":"block"}', "the response is not valid JSON, or is ambiguous"],
    ['{"action":"block","action":"allow"}', "the response is not valid JSON, or is ambiguous"],
    ['\ufeff{"action":"allow"}', "the response is not valid JSON, or is ambiguous"],
    [Buffer.from([0x22, 0xff, 0x22]), "the response is not valid JSON, or is ambiguous"],
    ["[]", "the response is not a JSON object"],
    ["null", "the response is not a JSON object"],
    ["{}", "the action is not allow, block or modify"],
    ['{"Action":"allow"}', "the action is not allow, block or modify"],
    ['{"action":"ALLOW"}', "the action is not allow, block or modify"],
    ['{"action":["allow"]}', "the action is not allow, block or modify"],
    ['{"action":"block","reason":{}}', "the reason is not a string"],
    ['{"action":"modify"}', "modify needs a message"],
    ['{"action":"modify","message":"x"}', "modify needs a message"],
  ])("or decides nothing: %s", (body, problem) => {
    expect(read(body)).toEqual({ problem });
  });

  test("is never an exception", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void readHookVerdict(Buffer.from(bytes))));
    fc.assert(fc.property(fc.integer(), (seed) => void readHookVerdict(Buffer.from(messageText(createRandom(seed))))));
  });
});

describe("a message is followed", () => {
  const CALL =
    ' {"jsonrpc":"2.0", "id":9007199254740991,"method":"tools/call","x":1.0,"params":{"name":"a", "n":9007199254740993}}';
  test.each([
    ["as it came", JSON.stringify(JSON.parse(CALL)), CALL],
    [
      "with another argument",
      '{"params":{"name":"a","n":9007199254740992,"b":[\n1]}}',
      CALL.replace("993}", '993,"b":[ 1]}'),
    ],
    ["with nothing", "{}", CALL],
  ])("%s", (_, wanted, after) => {
    expect(followed(CALL, wanted)).toBe(after);
  });

  test("in its result and in its error", () => {
    const result = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}';
    expect(followed(result, '{"result":{"content":[{"type":"text","text":"b"}]}}')).toBe(result.replace('"a"', '"b"'));
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"secret"}}';
    expect(followed(error, '{"error":{"code":-1,"message":"no"}}')).toBe(error.replace("secret", "no"));
  });

  test("also where it had no params", () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect(followed(ping, '{"method":"ping","params":{"a":1}}')).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1}}',
    );
    expect(followed(ping.replace("}", ',"params":null}'), '{"params":{"a":1}}')).toBe(
      ping.replace("}", ',"params":{"a":1}}'),
    );
  });

  test.each([
    ['{"id":2}', "id of a message cannot be changed"],
    ['{"id":"9007199254740991"}', "id of a message cannot be changed"],
    ['{"method":"ping"}', "method of a message cannot be changed"],
    ['{"jsonrpc":"1.0"}', "jsonrpc of a message cannot be changed"],
    ['{"x":2}', "x of a message cannot be changed"],
    ['{"result":{}}', "the message has no result to change"],
    ['{"y\\u001b":{}}', "the message has no y\\u001b to change"],
    ['{"params":[]}', "params must be an object"],
    ['{"params":null}', "params must be an object"],
  ])("but is no other one: %s", (wanted, problem) => {
    expect(followed(CALL, wanted)).toBe(`cannot: ${problem}`);
  });
});
