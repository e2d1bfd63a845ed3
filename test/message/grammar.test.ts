import { expect, test } from "vitest";
import { OPEN, stage } from "../support/play.ts";

// The manner of JSONTestSuite: each text stands where an argument stands. What is JSON passes as it
// is; what is not, in whatever way, never does.

const VALID: readonly string[] = [
  ["0", "-0", "-1", "1", "20e1", "0e+1", "0E1", "123e65", "1E22", "1E-2", "1e+2", "123.456e78", "-123123", "1e400"],
  ["-1e-400", "0.1000000000000000055511151231257827", "123123123123123123123123123123", "-0.0", "0.0", "1.7976931E308"],
  [
    "true",
    "false",
    "null",
    '""',
    '" "',
    '"a"',
    '"asd"',
    '"\u007f"',
    '"\u0080"',
    '"\u2028\u2029"',
    '"\uFEFF"',
    '"\u{10FFFF}"',
  ],
  [
    '"\\u0060\\u012a\\u12AB"',
    '"\\uD801\\udc37"',
    '"\\ud83d\\ude39\\ud83d\\udc8d"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"\\\\u0000"',
  ],
  [
    '"\\""',
    '"a/*b*/c/*d//e"',
    '"\\\\a"',
    '"\\\\n"',
    '"\\u0012"',
    '"\\uFFFF"',
    '"\\u0000"',
    '"\\uDFAA"',
    '"\\ud888"',
    '"\\uD800\\uD800"',
  ],
  ['"€𝄞"', '"\uFFFF"', '"new\\u00A0line"', '"\\u0022"', '"\\u005C"', '"\\uA66D"', '"⍂㈴⍂"', '"aクリス"', '"\\u0821"'],
  [
    "[]",
    "[   ]",
    '[""]',
    '["a"]',
    "[false]",
    '[null, 1, "1", {}]',
    "[null]",
    "[1]",
    "[ 1]",
    "[1,null,null,null,2]",
    "[2] ",
  ],
  [
    "[[] ]",
    "[[[[[[[[[[[[1]]]]]]]]]]]]",
    "[\t]",
    '[true,false,null,0,"",{},[]]',
    "{}",
    '{"":0}',
    '{"a":[]}',
    '{"a":{}}',
  ],
  ['{"asd":"sdf"}', '{"asd":"sdf", "dfg":"fgh"}', '{"foo\\u0000bar": 42}', '{ "min": -1.0e+28, "max": 1.0e+28 }'],
  ['{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'],
  [
    '{"title":"\\u041f\\u043e\\u043b" }',
    '{\t"a" :\t"b"\t}',
    '{"__proto__":1,"constructor":{"prototype":2}}',
    '{"a":"\\ud800"}',
  ],
].flat();

const BROKEN: readonly string[] = [
  [
    "",
    " ",
    "nul",
    "nulll",
    "tru",
    "truee",
    "True",
    "TRUE",
    "fals",
    "falsee",
    "NULL",
    "None",
    "nan",
    "NaN",
    "-NaN",
    "Inf",
  ],
  [
    "Infinity",
    "-Infinity",
    "+Inf",
    "undefined",
    "0x1",
    "0x42",
    "0X1",
    "01",
    "-01",
    "00",
    "012",
    "-012",
    "+1",
    "++1",
    ".1",
    "-.1",
  ],
  [
    "1.",
    "-1.",
    "-2.",
    "0.",
    "1.e1",
    "0.e1",
    "0.3e",
    "0.3e+",
    "0e",
    "0e+",
    "0E",
    "0E+",
    "1e",
    "1e+",
    "1e-",
    "1.0e",
    "1.0e+",
    "1eE2",
  ],
  [
    "1ea",
    "9.e+",
    "1_000",
    "1 000",
    "1+2",
    "2e3.5",
    "--1",
    "-",
    "-a",
    "-foo",
    "-1x",
    "1a",
    "1.2a-3",
    "1.8011670033376514H-308",
  ],
  ["１", "‐1", "1。5", "1,0", "0b1", "0o7", "1n", "1f", ".", "e1", "E1", "٣"],
  [
    '"',
    '"a',
    'a"',
    "'a'",
    '"\\',
    '"\\"',
    '"\\a"',
    '"\\x00"',
    '"\\x5f"',
    '"\\u"',
    '"\\u1"',
    '"\\u12"',
    '"\\u123"',
    '"\\u123g"',
    '"\\uqqqq"',
  ],
  [
    '"\\u00A"',
    '"\\ud834\\u"',
    '"\\ud834\\udd"',
    '"\\U0041"',
    '"\\ "',
    '"\\\t"',
    '"\\0"',
    '"\\1"',
    '"\\v"',
    '"\\e"',
    '"\\\'"',
    '"\\🌀"',
    '"\\é"',
  ],
  [
    '"a\tb"',
    '"a\u0000b"',
    '"a\u001fb"',
    '"a\u0008b"',
    '"a\u000cb"',
    '"a\u001bb"',
    '"a"b"',
    '"""',
    '"a" "b"',
    '"a"+"b"',
    "`a`",
    "“a”",
  ],
  [
    "[",
    "]",
    "[1",
    "1]",
    "[1,",
    "[,1]",
    "[,]",
    "[1,]",
    "[1,,2]",
    "[,,1]",
    "[1 2]",
    "[1 true]",
    '["a" "b"]',
    "[1:2]",
    "[1;2]",
    "[1]]",
    "[[1]",
  ],
  [
    "[1}",
    "[a",
    "[x",
    "[*]",
    "[*",
    '["',
    '["a',
    '["a"',
    "[1,\u000b2]",
    "[\u000c]",
    "[\u00a01]",
    "[\u20601]",
    "[\ufeff1]",
    "[1/**/]",
    "[1//]",
    "[1#]",
  ],
  [
    "{",
    "}",
    "{]",
    "{1:2}",
    "{a:1}",
    "{'a':1}",
    '{"a"}',
    '{"a":}',
    '{"a"',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    "{,}",
    '{,"a":1}',
    '{"a":1,,"b":2}',
  ],
  [
    '{"a" 1}',
    '{"a"::1}',
    '{"a":1 "b":2}',
    '{"a":1;"b":2}',
    '{"a"="b"}',
    '{"a":"b":"c"}',
    '{"a":1}}',
    '{"a":"a" 123}',
    "{null:1}",
    "{true:1}",
    '{"a",1}',
  ],
  [
    '{"a":/*x*/1}',
    '{"a":1/*x*/}',
    '{"a":1//x}',
    '{"a":1}#',
    '{/**/"a":1}',
    '{"a":1}{"b":2}',
    '{"a":1},{"b":2}',
    '{"a":\u00a01}',
    '{\u000b"a":1}',
    '{"a"\u000c:1}',
  ],
  [
    '{"a\tb":1}',
    '{"a\\x":1}',
    '{"a\\u12":1}',
    '{"a":"b',
    '{"a":"\\',
    '{"a":tru}',
    "{[1]:2}",
    '{"a":1]',
    "[1,2}",
    "{{}}",
    "[{]",
    "[{}",
    '["a",\n',
    "<x>",
    "a",
    "@",
    "\u0000",
  ],
  ["﻿1", "1\u0000", "\u00001", "1\u000c", "\u20601", "1\u00a0", "1\u2028", "1\u0085"],
].flat();

const embed = (text: string): string =>
  `{"jsonrpc":"2.0","id":"x","method":"vendor/call","params":{"name":"safe_tool","arguments":{"x":${text}}}}`;

/** Whether a line is let through by a relay without a policy. Each has a conversation of its own. */
async function passes(line: Buffer): Promise<boolean> {
  const { client, heard } = stage(OPEN);
  await client(line, "\n");
  const server = heard("server");
  if (server !== "") expect(server).toBe(`${line.toString("utf8")}\n`);
  return server !== "";
}

test.each(VALID.map((text) => [text]))("%j passes byte for byte", async (text) => {
  expect(() => JSON.parse(text)).not.toThrow();
  expect(await passes(Buffer.from(embed(text)))).toBe(true);
});

test.each(BROKEN.map((text) => [text]))("%j does not pass", async (text) => {
  expect(() => JSON.parse(text)).toThrow();
  // JSON.parse must refuse it here too: embedding may not have made it right.
  expect(() => JSON.parse(embed(text))).toThrow();
  expect(await passes(Buffer.from(embed(text)))).toBe(false);
});

const BAD_BYTES: Record<string, number[]> = {
  "a byte that begins nothing": [0xff],
  "a continuation without a beginning": [0x80],
  "a beginning without a continuation": [0xe2],
  "an overlong slash": [0xc0, 0xaf],
  "an overlong NUL": [0xc0, 0x80],
  "an overlong three-byte form": [0xe0, 0x80, 0xaf],
  "half a surrogate pair": [0xed, 0xa0, 0x80],
  "a character beyond U+10FFFF": [0xf4, 0x90, 0x80, 0x80],
  "a five-byte form": [0xf8, 0x88, 0x80, 0x80, 0x80],
  "a truncated four-byte form": [0xf0, 0x9f, 0x98],
};

test.each(Object.entries(BAD_BYTES))("%s does not pass, in a value, a key, or between tokens", async (_what, bad) => {
  for (const text of ['"a@b"', '{"a@b":1}', "[1,@2]"]) {
    const [before, after] = embed(text).split("@");
    expect(await passes(Buffer.concat([Buffer.from(before), Buffer.from(bad), Buffer.from(after)]))).toBe(false);
  }
});

test.each(["utf16le", "utf-16be", "utf-32le", "utf-8 with a BOM"])(
  "a message in %s does not pass",
  async (encoding) => {
    const text = embed("1");
    const little = Buffer.from(text, "utf16le");
    const messages: Record<string, Buffer> = {
      utf16le: little,
      "utf-16be": Buffer.from(little).swap16(),
      "utf-32le": Buffer.from(Array.from(text).flatMap((character) => [character.charCodeAt(0), 0, 0, 0])),
      "utf-8 with a BOM": Buffer.from(`\uFEFF${text}`),
    };
    expect(await passes(messages[encoding])).toBe(false);
  },
);

test.each([
  ["trailing text", "x"],
  ["a second value", "{}"],
  ["a brace too many", "}"],
  ["a comma", ","],
  ["a NUL", "\0"],
  ["a comment", "//"],
  ["a form feed", "\f"],
  ["a no-break space", "\u00a0"],
])("%s after a message does not pass, nor before it", async (_what, text) => {
  expect(await passes(Buffer.from(embed("1") + text))).toBe(false);
  expect(await passes(Buffer.from(text + embed("1")))).toBe(false);
});

test("spaces and tabs around a message pass with it", async () => {
  expect(await passes(Buffer.from(` \t${embed("1")}\t `))).toBe(true);
});
