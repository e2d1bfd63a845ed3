import { expect, test } from "vitest";
import { askRule, explainRule } from "../../../src/policy/rules/compiled-rule.ts";
import type { Answer } from "../../../src/policy/rules/conditions.ts";
import { describeCondition } from "../../../src/policy/rules/describe.ts";
import type { Condition, Field } from "../../../src/policy/rules/rule.ts";
import type { RuleView } from "../../../src/policy/rules/view.ts";
import { compiled, field, lookAt, part } from "./support.ts";

function touches(fields: readonly Field[] | null = null): Condition {
  return { is: "touches", paths: ["/etc"], globs: ["**/.env", "~/.ssh/**", "**/secret"], fields };
}

function ask(params: unknown, changes: Partial<RuleView> = {}, condition = touches()): Answer {
  return askRule(compiled(condition), lookAt({ params: part(params), ...changes }));
}

test.each<[string, unknown, Answer]>([
  ["an argument", { name: "t", arguments: { path: "/a/.env" } }, "yes"],
  ["an argument of any name", { name: "t", arguments: { x: { y: [{ z: ["a", "~/.ssh"] }] } } }, "yes"],
  ["a key", { name: "t", arguments: { files: { ".env": "A=1" } } }, "yes"],
  ["a word of a command line", { name: "t", arguments: { argv: ["cat", ".ssh/id_rsa"] } }, "yes"],
  ["a directory and a name apart", { name: "t", arguments: { cwd: "/", command: "ls etc" } }, "yes"],
  ["an escape of JSON", '{"name":"t","arguments":{"path":"\\u002fetc\\u002fpasswd"}}', "yes"],
  ["a text that is all there is", { name: "t", arguments: { path: "secret" } }, "yes"],
  ["harmless arguments", { name: "t", arguments: { path: "/a/b", n: 1, ok: true, none: null, list: [] } }, "no"],
  ["a number that looks alike", { name: "t", arguments: { n: 1.5 } }, "no"],
  ["no arguments", { name: "t" }, "no"],
  ["the name of the tool", { name: "secret", arguments: {} }, "no"],
  ["what is said about the message", { name: "t", _meta: { cwd: "/etc", "x/.env": 1 } }, "no"],
  ["what a retry brings along", { name: "t", inputResponses: { a: { roots: [{ uri: "file:///etc" }] } } }, "yes"],
])("%s", (_, params, answer) => {
  expect(ask(params)).toBe(answer);
});

test("links of resources, arguments of prompts and what is completed are looked at, too", () => {
  expect(ask({ uri: "file:///home/you/.ssh/id_rsa" }, { method: "resources/read", tool: null })).toBe("yes");
  expect(ask({ uri: "file:///workspace/a" }, { method: "resources/read", tool: null })).toBe("no");
  expect(ask({ name: "p", arguments: { file: ".env" } }, { method: "prompts/get", tool: null })).toBe("yes");
  const argument = { name: "path", value: "/etc/pa" };
  expect(ask({ ref: { type: "ref/prompt" }, argument }, { method: "completion/complete", tool: null })).toBe("yes");
  // Elsewhere a name is not the name of a tool.
  expect(ask({ name: "secret" }, { method: "x/open", tool: null })).toBe("yes");
});

test("with fields, only they are looked at, with all that is in them", () => {
  const params = { name: "t", arguments: { path: ["/a", { deep: "/etc/x" }], content: "see .env" } };
  expect(ask(params, {}, touches([field("arguments", "path")]))).toBe("yes");
  expect(ask(params, {}, touches([field("arguments", "path", 0)]))).toBe("no");
  expect(ask(params, {}, touches([field("arguments", "content")]))).toBe("yes");
  expect(ask(params, {}, touches([field("arguments", "none")]))).toBe("no");
  expect(ask(params, {}, touches([field("_meta"), field("arguments", "path")]))).toBe("yes");
});

test("without params there is nothing to touch, and where they were not kept nobody can tell", () => {
  expect(ask({}, { params: null })).toBe("no");
  expect(ask({}, { params: undefined })).toBe("unsure");
});

test("all such conditions share what one message may cost, and what is beyond it counts", () => {
  const text = Array.from({ length: 30_000 }, (_, nth) => `etc${nth}`).join(" ");
  const look = lookAt({ params: part({ name: "t", arguments: { text } }) });
  const answers = Array.from({ length: 4 }, () => askRule(compiled(touches()), look));
  expect(answers[0]).toBe("no");
  expect(answers.at(-1)).toBe("yes");
  const many = part({ name: "t", arguments: { list: Array.from({ length: 600_000 }, () => "a") } });
  expect(askRule(compiled(touches()), lookAt({ params: many }))).toBe("yes");
});

test("an explanation says which word it was", () => {
  const look = lookAt({ params: part({ name: "t", arguments: { command: "cat ~/.s*h/id_rsa" } }) });
  const [trace] = explainRule(compiled(touches([field("arguments", "command")])), look);
  expect(trace).toMatchObject({ answer: "yes", saw: "~/.s*h/id_rsa" });
  expect(describeCondition(trace.condition)).toBe("touches /etc, **/.env, ~/.ssh/**, **/secret in arguments.command");
  expect(explainRule(compiled(touches()), lookAt())[0]).toMatchObject({ answer: "no", saw: "(nothing of that)" });
});
