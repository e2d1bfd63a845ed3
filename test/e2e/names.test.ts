import { afterEach, describe, expect, test } from "vitest";
import { openShelf, type Shelf, type ShelfClient, WAYS } from "../support/shelf.ts";

let shelf: Shelf;
afterEach(() => shelf.close());

const names = { prompts: { deny: ["^deploy"] }, resources: { deny: ["^file:///secret/"] } };
const updated = (uri: string): object => ({ method: "notifications/resources/updated", params: { uri } });
const URI = "file:///secret/b";

describe.each(WAYS)("%s", (way) => {
  const TALKS = [
    ["2025-11-25", (client: ShelfClient) => client.ask, -32002],
    ["2026-07-28", (client: ShelfClient) => client.askModern, -32602],
  ] as const;

  test.each(TALKS)("%s: hidden prompts and resources are not listed, and refused", async (_revision, how, code) => {
    shelf = openShelf({ tools: [] });
    await shelf.talk(way, { names }, async (client) => {
      const ask = how(client);
      expect((await ask("prompts/list")).result).toMatchObject({ prompts: [{ name: "greet" }, { name: "bye" }] });
      expect((await ask("resources/list")).result).toMatchObject({ resources: [{ uri: "file:///a" }] });
      expect((await ask("resources/templates/list")).result).toMatchObject({
        resourceTemplates: [{ uriTemplate: "note:///{x}" }],
      });
      expect((await ask("prompts/get", { name: "greet" })).result).toMatchObject({ got: "greet" });
      expect((await ask("prompts/get", { name: "deploy" })).error).toEqual({
        code: -32602,
        message: "Prompt not found: deploy",
      });
      expect((await ask("resources/read", { uri: "file:///a" })).result).toMatchObject({ method: "resources/read" });
      expect((await ask("resources/read", { uri: URI })).error).toEqual({
        code,
        message: "Resource not found",
        data: { uri: URI },
      });
      const ref = { type: "ref/prompt", name: "deploy" };
      expect((await ask("completion/complete", { ref, argument: {} })).error).toMatchObject({ code: -32602 });
    });
    expect(shelf.heard("prompts/get")).toHaveLength(1);
    expect(shelf.heard("resources/read")).toHaveLength(1);
    expect(shelf.heard("completion/complete")).toHaveLength(0);
  });

  test("news of a hidden resource does not come", async () => {
    shelf = openShelf({ tools: [], says: { "resources/subscribe": [updated(URI), updated("file:///a")] } });
    await shelf.talk(way, { names }, async ({ ask, unasked }) => {
      expect((await ask("resources/subscribe", { uri: URI })).error).toMatchObject({ code: -32002 });
      await expect
        .poll(async () => {
          await ask("resources/subscribe", { uri: "file:///a" });
          return unasked.length;
        })
        .toBeGreaterThan(0);
      expect(JSON.stringify(unasked)).not.toContain("secret");
    });
  });
});
