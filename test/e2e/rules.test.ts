import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { loadPolicyFile } from "../../src/proxy/policy-file.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { openShelf, type Shelf, type ShelfClient, WAYS } from "../support/shelf.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let shelf: Shelf;
afterEach(() => shelf.close());

let files = 0;
/** The options that a policy file with these rules makes. */
async function policy(rules: string): Promise<ProxyOptions> {
  const file = join(folder, `p${++files}.yaml`);
  writeFileSync(file, `interceptor:\n  rules:\n${rules.replaceAll(/^/gm, "    ")}\n`);
  const { settings } = await loadPolicyFile(file, { HOOK: hook });
  return { policy: settings, policyFolder: folder };
}

const TOOLS = ["safe", "danger", "odd"].map((name) => ({ name, inputSchema: { type: "object" } }));
const TALKS = [
  ["2025-11-25", (client: ShelfClient) => client.ask],
  ["2026-07-28", (client: ShelfClient) => client.askModern],
] as const;

// Somebody who is asked about messages, and takes a moment.
let hook = "";
let asked: { tool: string | null }[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const event = JSON.parse(body) as { tool: string | null };
      asked.push(event);
      const verdict = event.tool === "danger" ? { action: "block", reason: "asked, and no" } : { action: "allow" };
      setTimeout(() => response.end(JSON.stringify(verdict)), 30);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => void (asked = []));
afterAll(() => server.close());

describe.each(WAYS)("%s", (way) => {
  test.each(TALKS)("%s: what a rule blocks does not reach the server", async (_revision, how) => {
    shelf = openShelf({ tools: TOOLS });
    const options = await policy(`- id: no-danger
  conditions: [{ method_equals: tools/call }, { param_in: { field: name, values: [danger] } }]
  actions: [{ block: "too dangerous" }]`);
    await shelf.talk(way, options, async (client) => {
      const ask = how(client);
      expect((await ask("tools/call", { name: "danger", arguments: {} })).error).toEqual({
        code: -32001,
        message: "too dangerous",
        data: { rule: "no-danger", action: "block" },
      });
      expect((await ask("tools/call", { name: "safe", arguments: {} })).result).toMatchObject({
        content: [{ text: "called safe" }],
      });
    });
    expect(shelf.heard("tools/call")).toHaveLength(1);
  });

  test.each(TALKS)("%s: what a rule changes is what the server hears, and the client", async (_revision, how) => {
    shelf = openShelf({ tools: TOOLS });
    const options = await policy(`- id: alias
  conditions: [{ tool_matches: "^odd$" }]
  actions: [{ set_param: { field: name, value: safe } }, { set_param: { field: arguments.careful, value: true } }]
- id: mark
  conditions: [{ method_equals: tools/call }, { result_exists: content }]
  actions: [{ set_result: { field: "content[0].text", value: "seen" } }]`);
    await shelf.talk(way, options, async (client) => {
      expect((await how(client)("tools/call", { name: "odd", arguments: {} })).result).toMatchObject({
        content: [{ type: "text", text: "seen" }],
      });
    });
    expect(shelf.heard("tools/call")).toMatchObject([{ params: { name: "safe", arguments: { careful: true } } }]);
  });

  test.each(TALKS)("%s: somebody who is asked decides about requests and answers", async (_revision, how) => {
    shelf = openShelf({ tools: TOOLS });
    const options = await policy(`- id: ask-first
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "\${HOOK}", include_message: true, wait: true, allow_private: true } }]
- id: ask-again
  conditions: [{ method_equals: tools/call }, { result_exists: content }]
  actions: [{ webhook: { url: "\${HOOK}", include_message: true, wait: true, allow_private: true } }]`);
    await shelf.talk(way, options, async (client) => {
      const ask = how(client);
      const [danger, safe] = await Promise.all([
        ask("tools/call", { name: "danger", arguments: {} }),
        ask("tools/call", { name: "safe", arguments: {} }),
      ]);
      expect(danger.error).toMatchObject({ code: -32001, message: "asked, and no" });
      expect(safe.result).toMatchObject({ content: [{ text: "called safe" }] });
    });
    expect(asked.filter(({ tool }) => tool === "danger")).toHaveLength(1);
    expect(asked.filter(({ tool }) => tool === "safe")).toHaveLength(2);
    expect(shelf.heard("tools/call")).toHaveLength(1);
  });

  test("a script decides, and a limit holds", async () => {
    shelf = openShelf({ tools: TOOLS });
    writeFileSync(
      join(folder, "decide.mjs"),
      `let text = ""; for await (const piece of process.stdin) text += piece;
const { message } = JSON.parse(text);
const odd = message.params.name === "odd";
console.log(JSON.stringify(odd ? { action: "block", reason: process.argv[2] } : { action: "allow" }));`,
    );
    const node = JSON.stringify(process.execPath);
    const options = await policy(`- id: script
  priority: 1
  conditions: [{ method_equals: tools/call }]
  actions: [{ run_script: { path: ${node}, args: [${JSON.stringify(join(folder, "decide.mjs"))}, "too odd; rm -rf"], timeout: 5s } }]
- id: few
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: "\${session_id}", limit: 1, window: 1h } }]`);
    await shelf.talk(way, options, async ({ ask }) => {
      expect((await ask("tools/call", { name: "odd" })).error).toMatchObject({ message: "too odd; rm -rf" });
      expect((await ask("tools/call", { name: "safe" })).result).toBeDefined();
      expect((await ask("tools/call", { name: "safe" })).error).toMatchObject({
        message: "Rate limit exceeded",
        data: { rule: "few", action: "rate_limit" },
      });
    });
  });

  test("a kept answer is for the session that asked, and copies of a request reach the server only", async () => {
    shelf = openShelf({ tools: TOOLS });
    const options = await policy(`- id: keep
  conditions: [{ method_equals: prompts/list }]
  actions: [{ cache: { key: "\${method}", ttl: 1h } }]
- id: copy
  conditions: [{ method_equals: tools/call }]
  actions: [{ fork: { copies: 2 } }]`);
    await shelf.talk(way, options, async ({ ask, again, unasked }) => {
      await ask("prompts/list");
      await ask("prompts/list");
      expect(shelf.heard("prompts/list")).toHaveLength(1);
      if (way.startsWith("http")) {
        await (
          await again()
        )("prompts/list");
        expect(shelf.heard("prompts/list")).toHaveLength(2);
      }
      expect((await ask("tools/call", { name: "safe" })).result).toMatchObject({ content: [{ text: "called safe" }] });
      await expect.poll(() => shelf.heard("tools/call").length).toBe(3);
      expect(unasked).toEqual([]);
    });
  });

  test("observing changes nothing, and says what would have been", async () => {
    shelf = openShelf({ tools: TOOLS });
    const events: { verdict: string; note: string | null }[] = [];
    const options = await policy(`- id: no-danger
  conditions: [{ tool_matches: "danger" }]
  actions: [{ block: "no" }]`);
    const audit = (event: { verdict: string; note: string | null }): void => void events.push(event);
    await shelf.talk(way, { ...options, observe: true, deny: ["odd"], audit }, async ({ ask }) => {
      expect((await ask("tools/list")).result).toMatchObject({ tools: TOOLS });
      expect((await ask("tools/call", { name: "danger" })).result).toBeDefined();
      expect((await ask("tools/call", { name: "odd" })).result).toBeDefined();
    });
    const notes = events.map(({ note }) => note);
    expect(notes).toEqual(expect.arrayContaining(["would:block:no-danger", "would:deny:tools", "would:hide:tools"]));
    expect(events.filter(({ verdict }) => verdict !== "pass" && verdict !== "drop")).toEqual([]);
  });
});
