import { describe, expect, test } from "vitest";
import {
  call,
  EVERYTHING,
  expectSameLines,
  hold,
  initialize,
  INITIALIZED,
  KUBERNETES,
  linesOf,
  MODERN,
  modernRequest,
  type Peer,
  request,
  scene,
  SDK_V1,
  SDK_V2,
  SDK_V2_AUTO,
  SDK_V2_PINNED,
  type SdkClient,
  type SdkPeer,
  type Spoken,
  type Talk,
  talkTo,
  type Tape,
  toolsIn,
} from "../support/peers.ts";

/** A server, what is hidden of it, and a call that stays allowed. */
interface Case {
  readonly server: Peer;
  readonly deny: string;
  readonly hidden: readonly string[];
  readonly allowed: readonly [name: string, args: Readonly<Record<string, unknown>>, answer: string];
  readonly clients: readonly SdkPeer[];
}

const CASES: readonly Case[] = [
  {
    server: EVERYTHING,
    deny: "^get-(env|sum)$, -image$",
    hidden: ["get-env", "get-sum", "get-tiny-image"],
    allowed: ["echo", { message: "ä" }, "Echo: ä"],
    clients: [SDK_V1, SDK_V2, SDK_V2_AUTO], // it speaks the older era only: the third finds that out
  },
  {
    server: MODERN,
    deny: "^secret_,^slow$", // the whole second page of three
    hidden: ["secret_read", "secret_write", "slow"],
    allowed: ["grow", {}, "added"], // on the third
    clients: [SDK_V1, SDK_V2, SDK_V2_AUTO, SDK_V2_PINNED],
  },
  ...(KUBERNETES === null
    ? []
    : [
        {
          server: KUBERNETES,
          deny: "^pods_,delete",
          hidden: ["pods_delete", "pods_exec", "pods_list", "resources_delete"],
          allowed: ["configuration_view", {}, "127.0.0.1"] as const,
          clients: [SDK_V1, SDK_V2_AUTO, SDK_V2_PINNED],
        },
      ]),
];

if (KUBERNETES === null) test.skip("kubernetes-mcp-server: its build for this platform is not among the peers");

for (const { server, deny, hidden, allowed, clients } of CASES) {
  const patterns = new RegExp(deny.replaceAll(/,\s*/g, "|"));
  describe(`${server.title} with --deny ${deny}`, () => {
    for (const peer of clients) {
      scene(`${peer.title} sees and calls what is left, and nothing else`, async (stage) => {
        const client = await peer.connect(stage, stage.fairlead(server, "--deny", deny));
        for (let time = 0; time < 2; time++) {
          const names = await listAll(client);
          expect(names).toContain(allowed[0]);
          expect(names.filter((name) => hidden.includes(name))).toEqual([]);
        }
        for (const name of [...hidden, "never_was"]) {
          await expect(client.call(name)).rejects.toMatchObject({
            code: -32601,
            message: expect.stringMatching(new RegExp(`Tool not found: ${name}$`)),
          });
        }
        expect(JSON.stringify(await client.call(allowed[0], allowed[1]))).toContain(allowed[2]);
        await client.close();
        const clientTapes = stage.tapes("client");
        const serverTapes = stage.tapes("server");
        expect(serverTapes.length).toBe(clientTapes.length);
        serverTapes.forEach((tape, nth) => expectOnlyHidden(clientTapes[nth], tape, patterns));
      });
    }

    scene("who calls without a list, and first of all, gets the same answers", async (stage) => {
      const talk = talkTo(stage, stage.fairlead(server, "--deny", deny));
      await talk.ask(initialize());
      talk.write(INITIALIZED);
      // It has to wait for the list, and then arrives as it was spelled.
      const params = `{ "arguments" :${JSON.stringify(allowed[1])},"name":"\\u00${hexOf(allowed[0])}${allowed[0].slice(1)}"}`;
      const first = `{ "params" : ${params}, "method":"tools\\/call","id":"first" , "jsonrpc":"2.0" }\r`;
      expect(await talk.ask(first)).toContain(allowed[2]);
      for (const [nth, name] of [...hidden, "never_was"].entries()) {
        expect(await talk.ask(call(`n${nth}`, name))).toBe(notFound(`n${nth}`, name));
      }
      expect(await talk.ask(call("allowed", allowed[0], allowed[1]))).toContain(allowed[2]);
      const { sent, received } = await talk.end();
      const [tape] = stage.tapes("server");
      expectOnlyHidden({ up: sent, down: received }, tape, patterns);
      // The list was fetched for this, and nobody was told.
      expect(linesOf(tape.up).filter((line) => line.includes('"fairlead-')).length).toBeGreaterThan(0);
      expect(received.includes("fairlead-")).toBe(false);
      expect(tape.up.includes(`\n${first}\n`)).toBe(true);
    });
  });
}

describe("a list that changes, with a filter", () => {
  scene(
    `${EVERYTHING.title} grows with what the client can do: the new list is shown, less what is hidden`,
    async (stage) => {
      const talk = talkTo(stage, stage.fairlead(EVERYTHING, "--deny", "sampling,elicitation"));
      await talk.ask(initialize({ roots: {}, sampling: {}, elicitation: {} }));
      const before = namesIn(await talk.ask(request(1, "tools/list", {})));
      expect(before).not.toContain("get-roots-list");
      talk.write(INITIALIZED);
      await talk.hear(({ method }) => method === "notifications/tools/list_changed");
      // Not listed yet, but there: and so it is with the hidden ones.
      expect(await talk.ask(call(2, "trigger-sampling-request", { prompt: "x" }))).toBe(
        notFound(2, "trigger-sampling-request"),
      );
      const roots = JSON.parse(await talk.hear(({ method }) => method === "roots/list")) as Spoken;
      talk.write(`{"jsonrpc":"2.0","id":${String(roots.id)},"result":{"roots":[{"uri":"file:///tmp"}]}}\n`);
      expect(await talk.ask(call(3, "get-roots-list"))).toContain("file:///tmp");
      const after = namesIn(await talk.ask(request(4, "tools/list", {})));
      expect(after.filter((name) => !before.includes(name))).toEqual(["get-roots-list", "simulate-research-query"]);
      const { sent, received } = await talk.end();
      const [tape] = stage.tapes("server");
      expectOnlyHidden({ up: sent, down: received }, tape, /sampling|elicitation/);
    },
  );

  for (const peer of [SDK_V1, SDK_V2]) {
    scene(
      `${MODERN.title} grows: ${peer.title} hears of it and sees the new tool, and not the hidden one`,
      async (stage) => {
        let changes = 0;
        const client = await peer.connect(stage, stage.fairlead(MODERN, "--deny", "^secret_"), {
          notices: ["notifications/tools/list_changed"],
          onNotice: () => changes++,
        });
        const names = async (): Promise<string[]> => {
          const { tools } = await client.listTools();
          return tools.map(({ name }) => name).filter((name) => /_\d$/.test(name));
        };
        await names();
        await client.call("grow");
        await client.call("grow");
        expect(changes).toBeGreaterThan(0);
        await expect(client.call("secret_2")).rejects.toThrow("Tool not found: secret_2");
        expect(JSON.stringify(await client.call("plain_1"))).toContain("plain_1 called");
        expect(await names()).toEqual(["plain_1"]);
        await client.close();
      },
    );
  }

  scene(`${MODERN.title} grows in 2026-07-28: who listens sees the new tool, and not the hidden one`, async (stage) => {
    let changes = 0;
    const client = await SDK_V2_PINNED.connect(stage, stage.fairlead(MODERN, "--deny", "^secret_"), {
      notices: ["notifications/tools/list_changed"],
      onNotice: () => changes++,
    });
    await client.listTools();
    const subscription = await client.listen({ toolsListChanged: true });
    await client.call("grow");
    await client.call("grow");
    expect(changes).toBeGreaterThan(0);
    await expect(client.call("secret_2")).rejects.toThrow("Tool not found: secret_2");
    expect(JSON.stringify(await client.call("plain_1"))).toContain("plain_1 called");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).filter((name) => /_\d$/.test(name))).toEqual(["plain_1"]);
    await subscription.close();
    await client.close();
  });
});

describe("a list that changes in silence, with a filter", () => {
  // In 2026-07-28 a server tells of changes only who listens; all others ask again when the list's `ttlMs` is over, and
  // here it is 0. So is what Fairlead remembers.
  scene(
    `${MODERN.title} grows in 2026-07-28, and who does not listen sees the new tool all the same`,
    async (stage) => {
      const direct = await hold(stage, MODERN.command, growUnheard);
      expect(direct.received.includes('"plain_1"')).toBe(true);
      expect(direct.received.includes("plain_1 called")).toBe(true);
      const through = await hold(stage, stage.fairlead(MODERN, "--deny", "^secret_"), growUnheard);
      expect(through.received.includes('"plain_1"')).toBe(true);
      expect(through.received.includes("plain_1 called")).toBe(true);
    },
  );
});

describe("the check above can fail", () => {
  const [safe, secret] = ['{"name":"safe","inputSchema":{"a":1.0}}', '{"name":"secret"}'];
  const ask = '{"id":1,"method":"tools/list"}';
  const good = {
    client: { up: line(ask), down: line(list(safe)) },
    server: { up: line(ask), down: line(list(safe, secret)) },
  };

  test.each([
    ["nothing else", good.client, good.server, true],
    ["what is hidden is shown", { ...good.client, down: line(list(safe, secret)) }, good.server, false],
    ["what is not hidden is missing", { ...good.client, down: line(list()) }, good.server, false],
    ["one byte of an entry", { ...good.client, down: line(list(safe.replace("1.0", "1"))) }, good.server, false],
    ["one byte beside the entries", { ...good.client, down: line(`${list(safe)} `) }, good.server, false],
    ["a message more", { ...good.client, down: line(list(safe), '{"method":"x"}') }, good.server, false],
    ["a message less", good.client, { ...good.server, down: line(list(safe, secret), '{"method":"x"}') }, false],
    ["a call that got by", good.client, { ...good.server, up: line(ask, call(2, "secret")) }, false],
  ])("%s", (_what, client, server, passes) => {
    const check = expect(() => expectOnlyHidden(client, server, /secret/));
    if (passes) check.not.toThrow();
    else check.toThrow();
  });
});

describe("questions inside results, with a filter", () => {
  scene(`${SDK_V2_PINNED.title} and ${MODERN.title}: the rounds go as without one`, async (stage) => {
    const asked: string[] = [];
    const answer = (result: object) => (said: Spoken) => {
      asked.push(said.method ?? "");
      return { ...result };
    };
    const client = await SDK_V2_PINNED.connect(stage, stage.fairlead(MODERN, "--deny", "^secret_"), {
      capabilities: { roots: {}, sampling: {}, elicitation: {} },
      answers: {
        "roots/list": answer({ roots: [] }),
        "sampling/createMessage": answer({ role: "assistant", model: "m", content: { type: "text", text: "ä" } }),
        "elicitation/create": answer({ action: "accept", content: { sure: true } }),
      },
    });
    expect(JSON.stringify(await client.call("confirm"))).toContain('\\"idea\\"');
    expect(asked).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
    await client.close();
    const servers = stage.tapes("server");
    stage.tapes("client").forEach((tape, nth) => expectOnlyHidden(tape, servers[nth], /^secret_/));
  });
});

const line = (...lines: string[]): Buffer => Buffer.from(lines.map((text) => `${text}\n`).join(""));
const list = (...tools: string[]): string => `{"result":{"tools":[${tools.join()}]},"id":1}`;

/** The names on all pages. The second SDK walks through them by itself. */
async function listAll(client: SdkClient): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...tools.map(({ name }) => name));
    if (nextCursor === undefined) return names;
    cursor = nextCursor;
  }
}

/** Lists, lets the server grow, lists again, and calls what is new. */
async function growUnheard(talk: Talk): Promise<void> {
  const cursors = [undefined, "3", "6"];
  for (const cursor of cursors) await talk.ask(modernRequest(`list ${cursor}`, "tools/list", { cursor }));
  await talk.ask(modernRequest("grow", "tools/call", { name: "grow", arguments: {} }));
  for (const cursor of cursors) await talk.ask(modernRequest(`again ${cursor}`, "tools/list", { cursor }));
  await talk.ask(modernRequest("new", "tools/call", { name: "plain_1", arguments: {} }));
}

/**
 * What a filter may change, and nothing else: entries of lists are gone, the others are the server's own bytes in
 * the server's order; calls of what is hidden or unknown are answered and not sent on; all other lines are the same.
 */
function expectOnlyHidden(client: Tape, server: Tape, hidden: RegExp): void {
  const asked = new Map(linesOf(client.up).map((line) => [keyOf(line), JSON.parse(line) as Spoken]));
  const isListed = (line: string): boolean => asked.get(keyOf(line))?.method === "tools/list";
  const isShown = (entry: string): boolean => !hidden.test(nameOf(entry));

  const pages = linesOf(server.down).filter((line) => line.includes('"tools":['));
  const all = [...new Set(pages.flatMap(toolsIn))];
  for (const line of linesOf(client.down).filter(isListed)) {
    const page = pages.find((other) => keyOf(other) === keyOf(line));
    // A page of the server's without some entries; or, once all are known, one page of ours with all the others.
    if (page === undefined) expectSameLines("the whole list", toolsIn(line), all.filter(isShown));
    else {
      const left = page.replace(toolsIn(page).join(), () => toolsIn(page).filter(isShown).join());
      expectSameLines("a page of the list", [line], [left]);
    }
  }
  const isPlain = (line: string): boolean => !isListed(line) && !isOwn(line);
  const heard = linesOf(client.down).filter((line) => isPlain(line) && !isRefusal(line));
  expectSameLines("what the client got", heard, linesOf(server.down).filter(isPlain));

  const refused = new Set(linesOf(client.down).filter(isRefusal).map(keyOf));
  const isSentOn = (line: string): boolean => !refused.has(keyOf(line)) && !isListed(line);
  const arrived = linesOf(server.up).filter((line) => !isListed(line) && !isOwn(line));
  expectSameLines("what the server got", arrived, linesOf(client.up).filter(isSentOn));
}

const hexOf = (name: string): string => name.charCodeAt(0).toString(16);
const isRefusal = (line: string): boolean => line.includes('"error":{"code":-32601,"message":"Tool not found: ');
const isOwn = (line: string): boolean => line.includes('"fairlead-');
const keyOf = (line: string): string => JSON.stringify((JSON.parse(line) as Spoken).id ?? line);
const nameOf = (entry: string): string => (JSON.parse(entry) as { name: string }).name;
const namesIn = (line: string): string[] => toolsIn(line).map(nameOf);

function notFound(id: number | string, name: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"Tool not found: ${name}"}}`;
}
