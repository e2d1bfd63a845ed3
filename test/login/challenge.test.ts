import { expect, test } from "vitest";
import { parseChallenge } from "../../src/login/challenge.ts";

const NOTHING = { resourceMetadata: null, scopes: [], wantsMoreScope: false };

test.each([
  [null, {}],
  ["", {}],
  ["Bearer", {}],
  ["Basic realm=x", {}],
  ['Bearer resource_metadata="https://a/b"', { resourceMetadata: "https://a/b" }],
  ['bearer RESOURCE_METADATA = "https://a/b" , scope=one', { resourceMetadata: "https://a/b", scopes: ["one"] }],
  ['Bearer error="insufficient_scope", scope="one two"', { scopes: ["one", "two"], wantsMoreScope: true }],
  ['Bearer error="invalid_token", scope="one"', { scopes: ["one"] }],
  ['Basic realm="a, Bearer scope=x", Bearer scope="one"', { scopes: ["one"] }],
  ['Bearer scope="one", DPoP scope="two"', { scopes: ["one"] }],
  ['Negotiate abc==, Bearer scope="one"', { scopes: ["one"] }],
  ['Bearer realm="a\\"b", scope="one"', { scopes: ["one"] }],
  ['Bearer scope="one \u0007bell t\\"wo"', { scopes: ["one"] }],
  ['Bearer scope="one', {}],
  ["=,;\u0000", {}],
])("of %j what matters is read", (header, expected) => {
  expect(parseChallenge(header)).toEqual({ ...NOTHING, ...expected });
});

test("a header made to be slow is not", () => {
  const started = performance.now();
  for (const text of ["Bearer ", "a ", ",", "a=", '="', "\\", 'a="\\']) parseChallenge(text.repeat(50_000));
  expect(performance.now() - started).toBeLessThan(1000);
});
