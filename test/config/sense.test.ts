import { describe, expect, test } from "vitest";
import { complaints, withRule } from "./reading.ts";

const codes = (text: string): string[] => complaints(text).map((line) => line.split(" ")[1].slice(0, -1));

const two = (first: string, second: string, chain = ""): string =>
  `interceptor:\n${chain}  rules:\n    - { id: a, ${first} }\n    - { id: b, ${second} }\n`;

describe("a rule that can never match is a mistake", () => {
  test.each([
    ["[{ method_equals: tools/call }, { method_equals: tools/list }]"],
    ["[{ method_equals: tools/call }, { method_in: [tools/list, ping] }]"],
    ["[{ method_in: [tools/call, tools/list] }, { method_in: [ping] }]"],
    ["[{ method_equals: tools/call }, { method_starts_with: resources/ }]"],
    ["[{ method_equals: tools/call }, { method_ends_with: list }]"],
    ["[{ method_equals: tools/call }, { method_matches: '^prompts/' }]"],
    ["[{ method_starts_with: tools/ }, { method_starts_with: prompts/ }]"],
    ["[{ method_ends_with: list }, { method_ends_with: call }]"],
    ["[{ method_equals: tools/call }, { not: { method_starts_with: tools/ } }]"],
    ["[{ method_equals: Tools/Call }]"],
    ["[{ method_equals: resources/read }, { tool_matches: x }]"],
    ["[{ method_equals: resources/list }, { tool_matches: x }]"],
    ["[{ all: [{ method_equals: tools/call }, { all: [{ method_equals: ping }] }] }]"],
    ["[{ direction: up }, { direction: down }]"],
    ["[{ session_id_equals: a }, { session_id_equals: b }]"],
    ["[{ error_code_equals: 1 }, { error_code_equals: 2 }]"],
    ["[{ result_exists: a }, { error_message_contains: b }]"],
    ["[{ param_equals: { field: a, value: 1 } }, { param_equals: { field: /a, value: 2 } }]"],
    ["[{ param_equals: { field: a, value: 3 } }, { param_in: { field: a, values: [1, 2] } }]"],
    ["[{ param_in: { field: a, values: [1] } }, { param_in: { field: a, values: ['1'] } }]"],
    ["[{ param_greater_than: { field: a, value: 5 } }, { param_less_than: { field: a, value: 5 } }]"],
    ["[{ param_greater_than: { field: a, value: 5 } }, { param_equals: { field: a, value: 5 } }]"],
    ["[{ param_greater_than: { field: a, value: 5 } }, { param_equals: { field: a, value: six } }]"],
    ["[{ param_is_null: a }, { param_is_array: a }]"],
    ["[{ param_is_null: a }, { param_equals: { field: a, value: 1 } }]"],
    ["[{ param_matches: { field: a, pattern: '^x' } }, { param_equals: { field: a, value: yx } }]"],
    ["[{ param_exists: a }, { not: { param_exists: /a } }]"],
    ["[{ method_equals: tools/call }, { any: [{ method_equals: ping }, { method_equals: roots/list }] }]"],
  ])("%s", (conditions) => {
    expect(codes(withRule(conditions))).toEqual(["never-matches"]);
  });
});

describe("a rule that can match is none", () => {
  test.each([
    ["[{ method_equals: tools/call }, { method_in: [tools/call, ping] }, { method_starts_with: tools }]"],
    ["[{ method_starts_with: tools/ }, { method_starts_with: tools/c }]"],
    ["[{ param_greater_than: { field: a, value: 5 } }, { param_less_than: { field: a, value: 9007199254740993 } }]"],
    ["[{ param_equals: { field: a, value: 1 } }, { result_equals: { field: a, value: 2 } }]"],
    ["[{ param_in: { field: a, values: [1, 2] } }, { param_in: { field: a, values: [2, 3] } }]"],
    ["[{ param_equals: { field: a, value: { x: 1, y: 2 } } }, { param_in: { field: a, values: [{ y: 2, x: 1 }] } }]"],
    ["[{ param_exists: a }, { not: { param_exists: b } }]"],
    ["[{ any: [{ result_exists: a }, { error_code_equals: 1 }] }]"],
    ["[{ method_ends_with: list }, { not: { method_equals: tools/list } }, { not: { method_equals: ping } }]"],
    ["[{ method_equals: tools/call }, { tool_matches: x }]"],
    ["[{ method_equals: sampling/createMessage }, { result_exists: content }, { direction: up }]"],
  ])("%s", (conditions) => {
    expect(complaints(withRule(conditions))).toEqual([]);
  });
});

test("an alternative that can never hold beside others that can is a warning", () => {
  expect(
    complaints(withRule("[{ method_equals: tools/call }, { any: [{ method_equals: ping }, { param_exists: name }] }]")),
  ).toEqual(["4:61 dead-branch: This alternative can never match → Fix it, or remove it"]);
});

describe("what a rule does must be possible when it is judged", () => {
  const ofAnswer = "[{ method_equals: tools/call }, { result_exists: content }]";
  test.each([
    ["set_param on an answer", withRule(ofAnswer, "[{ set_param: { field: a, value: 1 } }]")],
    ["remove_param on an answer", withRule(ofAnswer, "[{ remove_param: a }]")],
    ["rate_limit on an answer", withRule(ofAnswer, "[{ rate_limit: { key: k, limit: 1, window: 1s } }]")],
    ["cache on an answer", withRule(ofAnswer, "[{ cache: { key: k, ttl: 1s } }]")],
    ["fork on an answer", withRule(ofAnswer, "[{ fork: { copies: 1 } }]")],
    [
      "the same by direction",
      withRule("[{ method_equals: tools/call }]", "[{ remove_param: a }]", "      direction: down\n"),
    ],
    ["hide where there is no list", withRule("[{ method_equals: tools/call }]", "[hide]")],
    [
      "a client's notification from the server",
      withRule("[{ method_equals: notifications/initialized }, { direction: down }]"),
    ],
    ["an answer to the client that goes up", withRule(ofAnswer, undefined, "      direction: up\n")],
    ["a direction that contradicts the rule's", withRule("[{ direction: up }]", undefined, "      direction: down\n")],
    ["an answer to a notification", withRule("[{ method_equals: notifications/message }, { result_exists: a }]")],
  ])("%s", (_, text) => {
    expect(codes(text)).toEqual(["never-matches"]);
  });

  test.each([
    ["block on an answer", withRule(ofAnswer)],
    [
      "set_result on a request",
      withRule("[{ method_equals: tools/call }]", "[{ set_result: { field: a, value: 1 } }]"),
    ],
    [
      "redact what comes back",
      withRule("[{ method_equals: tools/call }]", "[{ transform: redact }]", "      direction: down\n"),
    ],
    ["hide in a list", withRule("[{ method_equals: tools/list }]", "[hide]")],
    [
      "hide by the link of a resource",
      withRule("[{ method_equals: resources/list }, { tool_matches: ^file }]", "[hide]"),
    ],
    ["hide by the name alone", withRule("[{ tool_matches: x }]", "[hide]")],
  ])("%s is fine", (_, text) => {
    expect(complaints(text)).toEqual([]);
  });

  test("more time for an answer than the chain has is of no use", () => {
    const asks = "[{ run_script: { path: ./a.sh, timeout: 30s } }]";
    expect(complaints(withRule("[]", asks))).toEqual([
      expect.stringMatching(
        /no-effect: Rule \S+ waits 30000 ms for an answer, and the chain only 5000 ms → Write chain: \{ timeout: 30000ms \}/,
      ),
    ]);
    expect(complaints(withRule("[]", "[{ run_script: { path: ./a.sh } }]"))).toEqual([]);
    expect(complaints(`${withRule("[]", asks)}  chain: { timeout: 30s }\n`)).toEqual([]);
  });

  test("links to hidden resources are of no interest where none is hidden", () => {
    expect(complaints("resources: { links: cut }\n")).toEqual([
      "1:14 no-effect: links: cut has no effect: no resource is hidden → Add deny or allow",
    ]);
    expect(complaints('resources: { links: cut, deny: ["^a:"] }\n')).toEqual([]);
  });

  test("what stands behind a final action and does not only observe does nothing", () => {
    expect(
      complaints(withRule("[{ tool_matches: x }]", "[{ block: a }, { log: { message: b } }, { delay: 1s }]")),
    ).toEqual(["5:58 no-effect: delay does nothing after block → Put it before, or take it out"]);
  });

  test.each([
    ["{ webhook: { url: 'https://x.test', wait: true } }", "webhook does nothing after block"],
    ["{ run_script: { path: a } }", "run_script does nothing after block"],
    ["{ webhook: { url: 'https://x.test' } }", null],
    ["{ metric: { name: a } }", null],
  ])("after block, %s gets the warning %s", (action, warning) => {
    const expected = warning === null ? [] : [expect.stringContaining(warning)];
    expect(complaints(withRule("[{ tool_matches: x }]", `[{ block: a }, ${action}]`))).toEqual(expected);
  });

  test.each(["{ set_param: { field: a, value: 1 } }", "{ rate_limit: { key: a, limit: 1, window: 1s } }"])(
    "%s comes too late in a rule that hides, which is judged when the list comes",
    (action) => {
      expect(complaints(withRule("[{ tool_matches: x }]", `[hide, ${action}]`))).toEqual([
        expect.stringMatching(
          /^5:\d+ no-effect: \S+ has to be done before the request is forwarded, and hide waits for/,
        ),
      ]);
    },
  );
});

describe("a rule in the shadow of another is a warning", () => {
  const call = "conditions: [{ method_equals: tools/call }]";
  const more = "conditions: [{ method_equals: tools/call }, { param_exists: task }]";
  const block = "actions: [{ block: x }]";

  test.each([
    ["the same conditions", two(`${call}, ${block}`, `${call}, actions: [allow]`)],
    ["more conditions", two(`${call}, ${block}`, `${more}, ${block}`)],
    ["a wider method", two(`conditions: [{ method_starts_with: tools/ }], ${block}`, `${more}, ${block}`)],
    ["no condition at all", two("actions: [allow]", `${more}, ${block}`)],
    ["one judged first by its priority", two(`${more}, ${block}`, `priority: 5, ${call}, ${block}`)],
    [
      "a request that is never sent",
      two(`${call}, ${block}`, "conditions: [{ method_equals: tools/call }, { result_exists: x }], actions: [allow]"),
    ],
  ])("%s", (_, text) => {
    expect(codes(text)).toEqual(["shadowed"]);
  });

  test.each([
    ["fewer conditions", two(`${more}, ${block}`, `${call}, ${block}`)],
    ["other directions", two(`${call}, direction: up, ${block}`, `${call}, ${block}`)],
    ["one that only logs", two(`${call}, actions: [{ log: { message: x } }]`, `${call}, ${block}`)],
    ["one that is off", two(`${call}, enabled: false, ${block}`, `${call}, ${block}`)],
    ["one that only observes", two(`${call}, enabled: observe, ${block}`, `${call}, ${block}`)],
    ["all are asked", two(`${call}, ${block}`, `${call}, ${block}`, "  chain: { fail_fast: false }\n")],
    ["a higher priority", two(`${call}, ${block}`, `priority: 5, ${more}, ${block}`)],
    [
      "a request that is let pass, and its answer",
      two(`${call}, actions: [allow]`, `conditions: [{ method_equals: tools/call }, { result_exists: x }], ${block}`),
    ],
  ])("not with %s", (_, text) => {
    expect(complaints(text)).toEqual([]);
  });

  test("the warning names both, and says what to do", () => {
    expect(complaints(two(`${call}, ${block}`, `${call}, ${block}`))).toEqual([
      "4:7 shadowed: Rule b never takes effect: rule a in line 3 is judged before it and matches all that it matches → Put it before that one, or take it out",
    ]);
  });
});

describe("what a direction makes of methods", () => {
  const DOWN = "      direction: down\n";

  test("messages and answers in one rule are a mistake: it would be about one of them only", () => {
    expect(complaints(withRule("[{ method_in: [notifications/message, tools/call] }]", undefined, DOWN))).toEqual([
      "4:22 dead-branch: Only answers to tools/call go down, and this rule is about more than answers → Make another rule for tools/call",
    ]);
    expect(complaints(withRule("[{ method_in: [ping, tasks/get] }]", undefined, DOWN))).toEqual([]);
    expect(complaints(withRule("[{ method_in: [tools/call, resources/read] }]", undefined, DOWN))).toEqual([]);
  });

  test("what only answers go for cannot be limited", () => {
    const limit = "[{ rate_limit: { key: k, limit: 1, window: 1s } }]";
    expect(codes(withRule("[{ tool_matches: x }]", limit, DOWN))).toEqual(["never-matches"]);
    expect(codes(withRule("[{ method_starts_with: tools/ }]", limit, DOWN))).toEqual(["never-matches"]);
    expect(codes(withRule("[{ client_matches: x }]", limit, DOWN))).toEqual([]);
  });
});
