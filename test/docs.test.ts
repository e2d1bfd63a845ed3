import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { composeEvent } from "../src/action/hook.ts";
import type { HookReply } from "../src/chain/services.ts";
import { createWebhook } from "../src/link/webhook.ts";
import { openMessage, whole } from "../src/message/message.ts";
import { composeMistakes } from "../src/policy/file/compose-mistakes.ts";
import { composeJsonSchema } from "../src/policy/file/json-schema.ts";
import { readPolicy } from "../src/policy/file/read-policy.ts";
import { loadCel } from "../src/policy/rules/cel.ts";
import { loadPatterns } from "../src/policy/rules/patterns.ts";
import { type Block, readBlocks, readPages } from "./support/docs.ts";
import { stageRules } from "./support/rules.ts";

const env = { APPROVAL_SECRET: "s", TOKEN: "t" };
const blocks = readBlocks();

/** A block of a page as a policy: all of it, or for each line of a list of conditions or actions one with that. */
function policiesIn(text: string): string[] {
  if (!text.startsWith("- ")) return [text];
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [, name] = /^- (\w+)/.exec(line) ?? [];
      const rest = CONDITIONS.has(name)
        ? `conditions:\n        ${line}\n      actions: [{ log: { message: x } }]`
        : `conditions: [{ tool_matches: x }]\n      actions:\n        ${line}`;
      return `interceptor:\n  rules:\n    - id: r\n      ${rest}\n`;
    });
}

/** The names of all conditions, or of all actions, as editors know them. */
function namesOf(what: "condition" | "action"): string[] {
  const { $defs } = composeJsonSchema() as unknown as { $defs: Record<string, Described> };
  const { properties, anyOf = [] } = $defs[what];
  return Object.keys(properties ?? anyOf.find((each) => each.properties !== undefined)?.properties ?? {});
}

interface Described {
  readonly properties?: object;
  readonly anyOf?: readonly Described[];
}

const CONDITIONS = new Set(namesOf("condition"));

describe("policies on the pages are policies", () => {
  for (const { page, line, language, text } of blocks) {
    // A page shows one that is full of mistakes, and what is said about it: that is tested where commands are run.
    if (language !== "yaml" || text.startsWith("# mistakes.yaml")) continue;
    test(`${page}:${line}`, async () => {
      const engines = { pattern: await loadPatterns(), cel: await loadCel(["matches"]) };
      for (const policy of policiesIn(text)) {
        const { mistakes, warnings } = readPolicy(policy, { file: page, env, engines });
        expect(composeMistakes([...mistakes, ...warnings], "text")).toBe("");
      }
    });
  }
});

describe("conversations on the pages go as they are told", () => {
  for (const [index, { page, line, language, text }] of blocks.entries()) {
    if (language !== "mcp") continue;
    test(`${page}:${line}`, async () => {
      const before = blocks.slice(0, index).filter((block) => block.page === page);
      const policy = before.findLast((block) => block.language === "yaml" && !block.text.startsWith("- "));
      const folder = writeModules(blocks.filter((block) => block.page === page));
      const { client, server, heard } = await stageRules(policy?.text ?? "", {
        env,
        folder,
        hook: (action, body) => (action.does === "run_script" ? run(join(folder, action.path), body) : NOBODY),
      });
      const silent = { client: "", server: "" };
      const unheard = { ...silent };
      for (const [, side, does, said] of text.matchAll(/^(client|server) (says|hears) +(.*)$/gm)) {
        const who = side as keyof typeof unheard;
        if (does === "says") {
          expect(unheard, said).toEqual(silent);
          await (who === "client" ? client : server)(`${said}\n`);
          await delay(1);
          for (const each of ["client", "server"] as const) unheard[each] += heard(each);
        } else {
          expect(unheard[who].split("\n")[0]).toBe(said);
          unheard[who] = unheard[who].slice(said.length + 1);
        }
      }
      expect(unheard).toEqual(silent);
    });
  }
});

const NOBODY: HookReply = { failure: "nobody there" };

/** Writes the programs of a page into a folder, each under the name that its first comment gives it. */
function writeModules(some: readonly Block[]): string {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-docs-"));
  for (const { language, text } of some) {
    const [, name] = /^(?:#!.*\n)?\/\/ (\S+\.mjs)\n/.exec(text) ?? [];
    if (name !== undefined && (language === "js" || language === "javascript"))
      writeFileSync(join(folder, name), text, { mode: 0o755 });
  }
  return folder;
}

function run(path: string, input: string): HookReply {
  try {
    return { body: execFileSync(process.execPath, [path], { input, stdio: ["pipe", "pipe", "ignore"] }) };
  } catch {
    return { failure: "ended with code 1" };
  }
}

test("every condition and every action is on the page about rules", () => {
  const { "docs/rules.md": page } = readPages();
  const actions = namesOf("action");
  expect(CONDITIONS.size).toBeGreaterThan(25);
  expect(actions.length).toBeGreaterThan(15);
  for (const name of [...CONDITIONS, ...actions].filter((each) => each !== "hold"))
    expect(page).toMatch(new RegExp(`^- ${name}\\b`, "m"));
});

describe("the page about scripts and webhooks", () => {
  const ours = blocks.filter(({ page }) => page === "docs/scripts-and-webhooks.md");
  const event = ours.find(({ language, text }) => language === "json" && text.includes('"version"'))?.text ?? "";

  test("shows an event as it is", () => {
    const { time, message, ...about } = JSON.parse(event) as Record<string, string>;
    delete about["version"];
    const bytes = openMessage(whole(Buffer.from(JSON.stringify(message))), "up", "allow");
    const composed = composeEvent({ ...about, time: new Date(time) } as never, bytes);
    expect(Object.keys(JSON.parse(composed.toString()) as object)).toEqual(Object.keys(JSON.parse(event) as object));
    expect(JSON.parse(composed.toString())).toEqual(JSON.parse(event));
  });

  test("has a webhook that knows us by our signature", async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [join(writeModules(ours), "approve.mjs")], {
      env: { ...process.env, APPROVAL_SECRET: "s", PORT: String(port) },
      stdio: "ignore",
    });
    const ask = async (secret: string): Promise<HookReply> => {
      const options = { timeoutMs: 5000, allowPrivate: true, onTrouble: () => {} };
      const webhook = createWebhook({ ...options, url: `http://127.0.0.1:${port}/approve`, secret });
      const reply = await webhook.ask(Buffer.from(event));
      webhook.close();
      return reply;
    };
    let reply: HookReply = { failure: "cannot be reached" };
    for (let tries = 0; "failure" in reply && tries < 100; tries++) {
      await delay(50);
      reply = await ask("s");
    }
    expect("body" in reply ? reply.body.toString() : reply).toBe('{"action":"block","reason":"Ask me tomorrow"}');
    expect(await ask("another")).toEqual({ failure: "answered with status 401" });
    child.kill();
    await once(child, "exit");
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
