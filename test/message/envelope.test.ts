import { describe, expect, test } from "vitest";
import { spell } from "../../src/message/id.ts";
import { openMessage, whole } from "../../src/message/message.ts";

/** What a message says it is, in a few words: its kind, and what goes with it. */
function read(text: string, breaks: "allow" | "refuse" = "refuse"): string {
  const bytes = Buffer.from(text);
  const { envelope } = openMessage(whole(bytes), "up", breaks);
  const at = (span: { start: number; end: number } | null): string =>
    span === null ? "-" : bytes.toString("utf8", span.start, span.end);
  switch (envelope.kind) {
    case "request":
      return `request ${spell(envelope.id)} ${envelope.method.name} ${at(envelope.params)} ${at(envelope.subject)}`;
    case "notification":
      return `notification ${envelope.method.name} ${at(envelope.params)}`;
    case "result":
      return `result ${spell(envelope.id)} ${at(envelope.result)}`;
    case "error":
      return `error ${envelope.id === null ? "-" : spell(envelope.id)} ${at(envelope.error)}`;
    case "batch":
      return "batch";
    case "opaque":
      return `${envelope.fault} ${envelope.id === null ? "-" : spell(envelope.id)} ${envelope.like}`;
  }
}

test.each([
  ['{"_meta":{"a":1},"name":"b"}', '{"a":1}'],
  ['{"arguments":{"_meta":{}},"\\u005fmeta": {} }', "{}"],
  ['{"arguments":{"_meta":{}}}', null],
  ['{"_meta":[{}]}', null],
  ['{"_meta":null}', null],
  ["null", null],
])("where the _meta of params is: %s", (params, meta) => {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"x","params":${params},"_meta":{}}`);
  const { envelope } = openMessage(whole(bytes), "up", "refuse");
  const span = envelope.kind === "request" ? envelope.meta : null;
  expect(envelope.kind).toBe("request");
  expect(span === null ? null : bytes.toString("utf8", span.start, span.end)).toBe(meta);
});

const deep = "[".repeat(130) + "]".repeat(130);

describe("what a message says it is", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "request 1 ping - -"],
    ['{"id":"a","params":{},"method":"x/y","jsonrpc":"2.0"}', 'request "a" x/y {} -'],
    ['{"jsonrpc":"2.0","id":0,"method":"ping","params":null}', "request 0 ping - -"],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"name":"no"},"name":"a b"}}',
      'request 1 tools/call {"arguments":{"name":"no"},"name":"a b"} "a b"',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\\u0061me":"a"}}',
      'request 1 tools/call {"n\\u0061me":"a"} "a"',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"a"}}', 'request 1 tools/call {"name":"a"} "a"'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"u","name":3}}',
      'request 1 resources/read {"uri":"u","name":3} "u"',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}', 'request 1 tasks/get {"taskId":"t"} "t"'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":3}}', 'request 1 x {"name":3} -'],
    ['{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}', 'notification notifications/x {"a":1}'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', "result 1 {}"],
    ['{"jsonrpc":"2.0","id":1,"result":null}', "result 1 null"],
    ['{"jsonrpc":"2.0","id":"1","result":[1, 2]}', 'result "1" [1, 2]'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}', 'error 1 {"code":1,"message":""}'],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1}}', 'error - {"code":1}'],
    ['{"jsonrpc":"\\u0032.0","id":1,"method":"ping"}', "request 1 ping - -"],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "batch"],
    ["[]", "batch"],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}\r', "request 1 ping - -"],
  ])("%s", (text, says) => {
    expect(read(text)).toBe(says);
  });
});

describe("what cannot be read in one way only", () => {
  test.each([
    ["no JSON has no id to trust", '{"id":1,"method":"ping"', "not-json - neither"],
    [
      "an answer that is no JSON is still an answer to somebody",
      '{"jsonrpc":"2.0","id":1,"result":}',
      "not-json 1 answer",
    ],
    ["a number is no message", "5", "not-an-object - request"],
    ["a string is no message", '"ping"', "not-an-object - request"],
    ["null is no message", "null", "not-an-object - request"],
    ["a repeated key", '{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}', "duplicate-key 1 request"],
    ["a repeated id", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', "duplicate-key - request"],
    ["a repeated id, once escaped", '{"jsonrpc":"2.0","\\u0069d":1,"id":2,"method":"ping"}', "duplicate-key - request"],
    ["a repeated key in a notification", '{"jsonrpc":"2.0","method":"x","a":1,"a":2}', "duplicate-key - neither"],
    ["a repeated key in an answer", '{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', "duplicate-key 1 answer"],
    ["another case of a key", '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"x"}', "variant-key 1 request"],
    ["another case of the id", '{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}', "variant-key - request"],
    [
      "another width of a key in params",
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"ｎame":1}}',
      "variant-key 1 request",
    ],
    [
      "a key that is too long to weigh",
      `{"jsonrpc":"2.0","id":1,"method":"x","${"k".repeat(1025)}":1}`,
      "variant-key 1 request",
    ],
    [
      "a key that is too long to weigh, with an escape in it",
      `{"jsonrpc":"2.0","id":1,"method":"x","\\u006b${"k".repeat(1025)}":1}`,
      "variant-key 1 request",
    ],
    [
      "the same in params",
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"\\u006b${"k".repeat(1025)}":1}}`,
      "variant-key 1 request",
    ],
    ["a prototype at the root", '{"jsonrpc":"2.0","id":1,"method":"x","__proto__":{}}', "prototype-key 1 request"],
    [
      "a prototype in params",
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"__proto__":1}}',
      "prototype-key 1 request",
    ],
    [
      "half a surrogate pair in a key",
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"\\ud800":1}}}',
      "lone-surrogate 1 request",
    ],
    ["half a surrogate pair in a method", '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', "lone-surrogate 1 request"],
    [
      "half a surrogate pair in a subject",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\udc00"}}',
      "lone-surrogate 1 request",
    ],
    ["half a surrogate pair in an id", '{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', "bad-id - request"],
    ["too deep", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${deep}}}`, "too-deep 1 request"],
    [
      "too deep, with the id behind it",
      `{"jsonrpc":"2.0","method":"x","params":{"a":${deep}},"id":1}`,
      "too-deep 1 request",
    ],
    ["an answer that is too deep", `{"jsonrpc":"2.0","id":1,"result":${deep}}`, "too-deep 1 answer"],
    [
      "a notification that is too deep waits for nothing",
      `{"jsonrpc":"2.0","method":"x","params":{"a":${deep}}}`,
      "too-deep - neither",
    ],
    [
      "an answer that is too deep and has no proper id",
      `{"jsonrpc":"2.0","id":7.0,"result":${deep}}`,
      "too-deep - answer",
    ],
    [
      "too deep, with neither method nor result",
      `{"jsonrpc":"2.0","id":1,"METHOD":"x","a":${deep}}`,
      "too-deep 1 request",
    ],
    ["a CR between tokens", '{"jsonrpc":"2.0",\r"id":1,"method":"ping"}', "carriage-return 1 request"],
    ["a CR in a batch", "[\r]", "carriage-return - request"],
    ["two CRs at the end", '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\r', "carriage-return 1 request"],
    ["a number for a version", '{"jsonrpc":2.0,"id":1,"method":"ping"}', "bad-version 1 request"],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}', "bad-version 1 request"],
    ["a version of the right length", '{"jsonrpc":"2-0","id":1,"method":"ping"}', "bad-version 1 request"],
    ["no version", '{"id":1,"method":"ping"}', "bad-version 1 request"],
    ["a method that is no text", '{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', "bad-method 1 request"],
    ["another case of a known method", '{"jsonrpc":"2.0","id":1,"method":"Tools/Call"}', "variant-method 1 request"],
    ["a known method and a space", '{"jsonrpc":"2.0","id":1,"method":"tools/call "}', "variant-method 1 request"],
    ["a known method and a NUL", '{"jsonrpc":"2.0","id":1,"method":"tools/call\\u0000"}', "variant-method 1 request"],
    [
      "a method of more than a kilobyte",
      `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(1100)}"}`,
      "variant-method 1 request",
    ],
    [
      "params by position",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["denied_tool"]}',
      "bad-params 1 request",
    ],
    ["params that are text", '{"jsonrpc":"2.0","id":1,"method":"x","params":"a"}', "bad-params 1 request"],
    [
      "a name in a list",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["a"]}}',
      "bad-subject 1 request",
    ],
    [
      "a name that is null",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":null}}',
      "bad-subject 1 request",
    ],
    ["a result and an error", '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "ambiguous 1 answer"],
    ["a method and a result", '{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{}}', "ambiguous 1 request"],
    ["neither method nor result", '{"jsonrpc":"2.0","id":1}', "ambiguous 1 request"],
    ["a result without an id", '{"jsonrpc":"2.0","result":{}}', "ambiguous - answer"],
    ["a result without an id to speak of", '{"jsonrpc":"2.0","id":null,"result":{}}', "bad-id - answer"],
    ["an empty object", "{}", "bad-version - neither"],
  ])("%s", (_what, text, says) => {
    expect(read(text)).toBe(says);
  });
});

test("line breaks between tokens may stand where the link says so", () => {
  const text = '{\r\n  "jsonrpc":"2.0",\n  "id":1, "method":"ping"\r\n}\r\n';
  expect(read(text, "allow")).toBe("request 1 ping - -");
  expect(read(text, "refuse")).toBe("carriage-return 1 request");
});

test("a message is found in the middle of its buffer", () => {
  const line = '{"jsonrpc":"2.0","id":7,"result":{"é":1}}';
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}\n${line}\n{"x":1}\n`);
  const start = bytes.indexOf("\n") + 1;
  const { envelope } = openMessage(
    { bytes, start, end: start + Buffer.byteLength(line), ascii: false },
    "down",
    "refuse",
  );
  if (envelope.kind !== "result") throw new Error(`read as ${envelope.kind}`);
  expect(bytes.toString("utf8", envelope.result.start, envelope.result.end)).toBe('{"é":1}');
});
