import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AuthorizationFixture, browse, startAuthorizationServer } from "../fixtures/authorization-server.ts";

const LOGIN = new URL("../../src/login/login.ts", import.meta.url).href;
const TSX = import.meta.resolve("tsx");

let fixture: AuthorizationFixture;
let directory: string;
beforeEach(async () => {
  fixture = await startAuthorizationServer();
  directory = mkdtempSync(join(tmpdir(), "logins-"));
});
afterEach(async () => {
  await fixture.close();
  rmSync(directory, { recursive: true });
});

/** A process that wants a token. `ageMs` is how late it thinks it is. Says the token; the page goes to `onPage`. */
async function want(ageMs: number, onPage: (page: string) => void): Promise<string> {
  const script = `
    import { createLogin } from ${JSON.stringify(LOGIN)};
    const login = createLogin({
      server: ${JSON.stringify(fixture.server)},
      directory: ${JSON.stringify(directory)},
      timeoutMs: 20000,
      openBrowser: (page) => console.log("page " + page),
      say: () => {},
    }, { now: () => Date.now() + ${ageMs} });
    console.log("token " + ((await login.token()) ?? (await login.answer(null, null))));
  `;
  const args = ["--import", TSX, "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    const page = /page (.+)\n/.exec(String(chunk))?.[1];
    if (page !== undefined) onPage(page);
  }
  return /token (.+)\n/.exec(text)?.[1] ?? text;
}

test("several at once have one login, and one refresh, for all of them", { timeout: 60_000 }, async () => {
  const pages: string[] = [];
  const onPage = (page: string): void => {
    pages.push(page);
    setTimeout(() => void browse(page), 500); // a person takes a moment
  };
  const tokens = await Promise.all([want(0, onPage), want(0, onPage), want(0, onPage)]);
  expect(pages).toHaveLength(1);
  expect(new Set(tokens).size).toBe(1);
  expect((await fixture.knock(tokens[0])).status).toBe(200);

  const later = await Promise.all([want(3_560_000, onPage), want(3_560_000, onPage), want(3_560_000, onPage)]);
  expect(new Set(later).size).toBe(1);
  expect(later[0]).not.toBe(tokens[0]);
  expect(fixture.exchanges).toHaveLength(2);
  expect(pages).toHaveLength(1);
  expect(readdirSync(directory)).toHaveLength(1);
});
