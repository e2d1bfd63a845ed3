import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { Spoken } from "../support/peers.ts";
import { openShelf, type Shelf, type ShelfClient, WAYS } from "../support/shelf.ts";

let shelf: Shelf;
afterEach(() => shelf.close());

const tool = (name: string): object => ({ name, inputSchema: { type: "object" } });
const TOOLS = [tool("safe"), tool("secret_one")];
const CHANGED = { method: "notifications/tools/list_changed" };
const DENY = ["^secret_"];

const namesIn = ({ result }: Spoken): string[] =>
  ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);
const callOf = (ask: ShelfClient["ask"], name: string): Promise<Spoken> => ask("tools/call", { name, arguments: {} });

describe.each(WAYS)("%s", (way) => {
  test.each([
    ["2025-11-25", (client: ShelfClient) => client.ask],
    ["2026-07-28", (client: ShelfClient) => client.askModern],
  ] as const)("%s: a hidden tool is answered for as the server answers for one it does not have", async (_, how) => {
    shelf = openShelf({ tools: TOOLS, unknown: "error" });
    await shelf.talk(way, { deny: DENY, names: { tools: { notFound: "upstream" } } }, async (client) => {
      for (const name of ["secret_one", "nobody", "secret_one"]) {
        expect((await callOf(how(client), name)).error).toEqual({
          code: -32602,
          message: `No tool called ${name} here`,
          data: { asked: name },
        });
      }
      expect((await callOf(how(client), "safe")).result).toMatchObject({ content: [{ text: "called safe" }] });
    });
    const asked = shelf.heard("tools/call").map(({ params }) => params?.["name"]);
    expect(asked.filter((name) => name !== "safe").every((name) => String(name).startsWith("tool_"))).toBe(true);
    expect(asked).not.toContain("secret_one");
  });

  test("tools that came later are seen when the list is learnt anew, and not when it is kept", async () => {
    for (const refresh of ["on_change", "never"] as const) {
      shelf = openShelf({ tools: TOOLS, says: { "prompts/list": [CHANGED] } });
      await shelf.talk(way, { deny: DENY, names: { tools: { refresh } } }, async ({ ask, unasked }) => {
        expect(namesIn(await ask("tools/list"))).toEqual(["safe"]);
        shelf.stock({ tools: [...TOOLS, tool("late"), tool("secret_late")], says: { "prompts/list": [CHANGED] } });
        while (unasked.length === 0) {
          await ask("prompts/list");
          await delay(20);
        }
        const isSeen = refresh === "on_change";
        expect("result" in (await callOf(ask, "late"))).toBe(isSeen);
        expect((await callOf(ask, "secret_late")).error).toMatchObject({ message: "Tool not found: secret_late" });
        expect(namesIn(await ask("tools/list"))).toEqual(isSeen ? ["safe", "late"] : ["safe"]);
      });
      shelf.close();
    }
  });

  test("a hidden name is taken out of errors", async () => {
    shelf = openShelf({ tools: TOOLS, unknown: "leak" });
    const options = { allow: ["^(?!secret_)"], names: { tools: { hide: "strict" } } } as const;
    await shelf.talk(way, options, async ({ ask }) => {
      expect(namesIn(await ask("tools/list"))).toEqual(["safe"]);
      shelf.stock({ tools: [tool("secret_one")], unknown: "leak" });
      expect((await callOf(ask, "safe")).error).toEqual({
        code: -32602,
        message: "No tool safe; there are safe, [hidden]",
      });
    });
  });
});

test("by HTTP a list is learnt once for all, or by each session", async () => {
  for (const [way, cache, lists] of [
    ["http → http", "startup", 0],
    ["http → http", "session", 2],
    ["http → stdio", "startup", 1],
    ["http → stdio", "session", 2],
  ] as const) {
    shelf = openShelf({ tools: TOOLS });
    await shelf.talk(way, { deny: DENY, names: { tools: { cache } } }, async ({ again, ask }) => {
      const before = way === "http → http" ? shelf.heard("tools/list").length : 0;
      for (const talk of [ask, await again()]) {
        expect((await callOf(talk, "secret_one")).error).toMatchObject({ message: "Tool not found: secret_one" });
        expect((await callOf(talk, "safe")).error).toBeUndefined();
      }
      expect({ way, cache, lists: shelf.heard("tools/list").length - before }).toEqual({ way, cache, lists });
    });
    shelf.close();
  }
});
