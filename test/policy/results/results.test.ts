import { describe, expect, test } from "vitest";
import { createResultJudge } from "../../../src/policy/results/result-judge.ts";
import { denying, OPEN, stage } from "../../support/play.ts";

type Judged = ReturnType<typeof stage>;

interface Begin {
  readonly revision?: string;
  readonly deny?: string;
  readonly tools?: readonly object[];
}

/** A conversation whose answers are checked, of some revision, in which these tools were listed. */
async function begin({ revision = "2025-11-25", deny, tools }: Begin = {}): Promise<Judged & { unchecked: string[] }> {
  const unchecked: string[] = [];
  const results = createResultJudge({ onUnchecked: (tool, keywords) => unchecked.push(`${tool} ${keywords.join()}`) });
  const relay = stage({ tools: deny === undefined ? null : denying(deny).tools, results });
  const serverInfo = { name: "s", version: "1" };
  await relay.client(say({ id: "hello", method: "initialize", params: { protocolVersion: revision } }));
  await relay.server(
    say({ id: "hello", result: { protocolVersion: revision, capabilities: { tools: {} }, serverInfo } }),
  );
  if (tools !== undefined) {
    await relay.client(say({ id: "list", method: "tools/list" }));
    await relay.server(say({ id: "list", result: { tools } }));
  }
  relay.heard("client");
  return { ...relay, unchecked };
}

const say = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
const INVALID = say({ id: 7, error: { code: -32000, message: "Invalid response" } });

let lastMethod = "";

/** What a client hears when its request is answered with this. */
async function answered(relay: Judged, method: string, answer: object, params: object = {}): Promise<string> {
  lastMethod = method;
  await relay.client(say({ id: 7, method, params }));
  await relay.server(say({ id: 7, ...answer }));
  return relay.heard("client");
}

const TOOL = { name: "a", inputSchema: { type: "object" } };
const text = { type: "text", text: "x" };

describe("an answer that is what MCP says passes byte for byte", () => {
  test.each<[method: string, result: object]>([
    ["ping", {}],
    ["tools/list", { tools: [TOOL], nextCursor: "2" }],
    ["tools/call", { content: [text, { type: "audio", data: "aGk=", mimeType: "audio/wav" }], isError: true }],
    ["tools/call", { content: [], structuredContent: { a: 1 }, odd: 5, _meta: {} }],
    ["tools/call", { task: { taskId: "t", status: "working", createdAt: "a", lastUpdatedAt: "b", ttl: null } }],
    ["prompts/list", { prompts: [{ name: "p", arguments: [{ name: "x", required: true }] }] }],
    ["prompts/get", { messages: [{ role: "user", content: text }] }],
    ["resources/list", { resources: [{ uri: "file:///x", name: "x", size: 5 }] }],
    ["resources/templates/list", { resourceTemplates: [{ uriTemplate: "file:///{x}", name: "x" }] }],
    ["resources/read", { contents: [{ uri: "file:///x", blob: "aGk=" }] }],
    ["completion/complete", { completion: { values: ["a"], total: 1, hasMore: false } }],
    ["logging/setLevel", {}],
    ["tasks/list", { tasks: [] }],
    ["vendor/anything", { tools: 5 }],
  ])("%s %j", async (method, result) => {
    const relay = await begin();
    expect(await answered(relay, method, { result })).toBe(say({ id: 7, result }));
    expect(relay.said).toEqual([]);
  });
});

describe("one that is not becomes an error, and the log says why", () => {
  test.each<[method: string, result: unknown, why: string]>([
    ["ping", [], "it is not an object"],
    ["tools/list", { tools: [null] }, "tools[0] is not an object"],
    ["tools/list", { tools: [TOOL], nextCursor: null }, "nextCursor is not text"],
    ["tools/call", {}, "content is missing"],
    ["tools/call", { content: "x" }, "content is not a list"],
    ["tools/call", { content: [{ type: "text" }] }, "content[0].text is missing"],
    ["tools/call", { content: [text, { type: "video" }] }, "content[1].type has none of the values that are allowed"],
    ["tools/call", { content: [], structuredContent: [] }, "structuredContent is not an object"],
    ["tools/call", { task: {} }, "task.taskId is missing"],
    ["prompts/get", { messages: [{ role: "system", content: text }] }, "messages[0].role has none of the values"],
    ["resources/read", { contents: [{ uri: "x" }] }, "contents[0] fits none of the kinds that are allowed"],
    ["completion/complete", { completion: { values: [1] } }, "completion.values[0] is not text"],
  ])("%s %j", async (method, result, why) => {
    const relay = await begin();
    expect(await answered(relay, method, { result: result as object })).toBe(INVALID);
    expect(relay.said.at(-1)).toContain(
      `warn  replaced a response from the server by an error: the response does not have the required form rule="validate:result" ` +
        `method="${lastMethod}"`,
    );
    expect(relay.said.at(-1)).toContain(`why="${why}`);
    expect(relay.events.at(-1)).toMatchObject({ verdict: "deny", rule: "validate:result" });
    // The conversation goes on.
    expect(await answered(relay, "ping", { result: {} })).toBe(say({ id: 7, result: {} }));
  });

  test.each([{ code: "x", message: "m" }, { code: 1 }, { message: "m" }, {}])("an error that is %j", async (error) => {
    expect(await answered(await begin(), "vendor/anything", { error })).toBe(INVALID);
  });
});

describe("the revision that was agreed on decides", () => {
  const audio = { content: [{ type: "audio", data: "aGk=", mimeType: "audio/wav" }] };
  const link = { content: [{ type: "resource_link", uri: "file:///x", name: "x" }] };
  test.each([
    ["2024-11-05", audio, false],
    ["2025-03-26", audio, true],
    ["2025-03-26", link, false],
    ["2025-06-18", link, true],
    ["2024-10-07", { content: [text] }, true],
    ["2025-12-31", link, true],
  ])("%s %j: %s", async (revision, result, isGood) => {
    const heard = await answered(await begin({ revision }), "tools/call", { result }, { name: "a" });
    expect(heard).toBe(isGood ? say({ id: 7, result }) : INVALID);
  });

  const hints = { ttlMs: 0, cacheScope: "private" };
  const META = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  test.each<[method: string, result: object, isGood: boolean]>([
    ["tools/call", { resultType: "complete", content: [], structuredContent: [1] }, true],
    ["tools/call", { content: [] }, false],
    ["tools/call", { resultType: "input_required", inputRequests: { a: { method: "roots/list" } } }, true],
    ["tools/call", { resultType: "input_required", inputRequests: { a: { method: "tools/call" } } }, false],
    ["tools/call", { resultType: "task", task: 5 }, true],
    ["tools/call", { resultType: 5, content: [] }, false],
    ["prompts/list", { resultType: "complete", prompts: [], ...hints }, true],
    ["prompts/list", { resultType: "complete", prompts: [] }, false],
    ["server/discover", { resultType: "complete", supportedVersions: [], capabilities: {}, ...hints }, true],
    ["server/discover", { resultType: "complete", capabilities: {}, ...hints }, false],
    ["ping", [] as never, true],
  ])("2026-07-28 %s %j: %s", async (method, result, isGood) => {
    const heard = await answered(await begin(), method, { result }, META);
    expect(heard).toBe(isGood ? say({ id: 7, result }) : INVALID);
  });
});

describe("structured content is what the tool's output schema says", () => {
  const outputSchema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  const ADDING = { ...TOOL, name: "add", outputSchema };
  const PATTERN = { ...TOOL, name: "named", outputSchema: { type: "object", properties: { id: { pattern: "^x" } } } };
  const OTHER = { ...TOOL, name: "plain" };
  const tools = [ADDING, PATTERN, OTHER];

  test.each<[tool: string, result: object, why: string | null]>([
    ["add", { content: [], structuredContent: { sum: 1 } }, null],
    ["add", { content: [], structuredContent: { sum: "1" } }, "structuredContent: sum is not a number"],
    ["add", { content: [], structuredContent: {} }, "structuredContent: sum is missing"],
    ["add", { content: [] }, "structuredContent is missing"],
    ["add", { content: [text], isError: true }, null],
    ["plain", { content: [], structuredContent: { any: 1 } }, null],
    ["unlisted", { content: [], structuredContent: { any: 1 } }, null],
  ])("%s %j", async (name, result, why) => {
    const relay = await begin({ tools });
    const heard = await answered(relay, "tools/call", { result }, { name });
    expect(heard).toBe(why === null ? say({ id: 7, result }) : INVALID);
    if (why !== null)
      expect(relay.said.at(-1)).toContain(`rule="validate:output" method="tools/call" about="add" why="${why}"`);
  });

  test("what cannot be checked passes, and is told once", async () => {
    const relay = await begin({ tools });
    const result = { content: [], structuredContent: { id: "y" } };
    for (let nth = 0; nth < 3; nth++) await answered(relay, "tools/call", { result }, { name: "named" });
    expect(await answered(relay, "tools/call", { result }, { name: "named" })).toBe(say({ id: 7, result }));
    expect(relay.unchecked).toEqual(["named pattern"]);
  });

  test("also of a tool that a filter lets through, and by the newest list", async () => {
    const relay = await begin({ tools, deny: "^secret" });
    const bad = { content: [], structuredContent: { sum: "1" } };
    expect(await answered(relay, "tools/call", { result: bad }, { name: "add" })).toBe(INVALID);
    await relay.server(say({ method: "notifications/tools/list_changed" }));
    await relay.client(say({ id: "again", method: "tools/list" }));
    await relay.server(say({ id: "again", result: { tools: [{ ...TOOL, name: "add" }] } }));
    relay.heard("client");
    expect(await answered(relay, "tools/call", { result: bad }, { name: "add" })).toBe(say({ id: 7, result: bad }));
  });
});

describe("what is left alone", () => {
  test("everything, unless somebody asks for it", async () => {
    const relay = stage(OPEN);
    expect(await answered(relay, "tools/call", { result: { content: 5 } })).toBe(
      say({ id: 7, result: { content: 5 } }),
    );
  });

  test("bad entries of a list that is filtered: they are hidden one by one", async () => {
    const relay = await begin({ deny: "^secret" });
    const heard = await answered(relay, "tools/list", { result: { tools: [null, TOOL] } });
    expect(heard).toBe(say({ id: 7, result: { tools: [TOOL] } }));
  });

  test("what the client answers", async () => {
    const relay = await begin();
    await relay.server(say({ id: 1, method: "sampling/createMessage", params: {} }));
    relay.heard("server");
    await relay.client(say({ id: 1, result: { odd: 1 } }));
    expect(relay.heard("server")).toBe(say({ id: 1, result: { odd: 1 } }));
  });
});
