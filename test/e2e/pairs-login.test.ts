import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect } from "vitest";
import { type AuthorizationFixture, startAuthorizationServer } from "../fixtures/authorization-server.ts";
import { initialize, INITIALIZED, request, type Spoken } from "../support/peers.ts";
import { COMMAND, type Program, test } from "../support/processes.ts";
import { replyWith, resultFor } from "../support/scripted-http.ts";

const home = mkdtempSync(join(tmpdir(), "fairlead-login-"));
const visits = join(home, "visits");
const browser = `${process.execPath} ${resolve(import.meta.dirname, "../fixtures/browser.mjs")} ${visits}`;
let server: AuthorizationFixture | null = null;

afterEach(async () => {
  await server?.close();
  rmSync(home, { recursive: true, force: true });
});

/** A server that wants to know who comes, and then is a good one. */
function guarded(lifetime = 3600): Promise<AuthorizationFixture> {
  return startAuthorizationServer({
    lifetime,
    scope: "tools",
    serve({ method }, body, response) {
      const message = (body === "" ? {} : JSON.parse(body)) as Spoken;
      if (method === "GET") response.writeHead(405).end();
      else if (message.id === undefined) response.writeHead(202).end();
      else replyWith(response, resultFor(message), message.method === "initialize" ? { "Mcp-Session-Id": "s" } : {});
    },
  });
}

describe("stdio → HTTP, where the server wants a login", () => {
  test("the browser is opened once; the next start uses what was stored", async ({ startProgram }) => {
    server = await guarded();
    const { server: upstream } = server;
    const begin = (): Program =>
      startProgram([process.execPath, COMMAND, "--upstream", upstream], {
        env: { BROWSER: browser, XDG_STATE_HOME: home, HOME: home },
      });
    for (const start of ["first", "second"]) {
      const program = begin();
      program.say(`${initialize()}\n`, INITIALIZED, `${request(1, "tools/list")}\n`);
      await program.hears('"name":"echo"');
      program.stdin.end();
      const { code, stderr, left } = await program.end();
      expect({ start, code, left }, stderr).toEqual({ start, code: 0, left: [] });
      expect({ start, pages: readFileSync(visits, "utf8").split("\n").length - 1 }).toEqual({ start, pages: 1 });
    }
    const folder = join(home, "fairlead", "logins");
    const files = readdirSync(folder).map((name) => statSync(join(folder, name)));
    expect(files.length).toBeGreaterThan(0);
    for (const { mode } of files) expect((mode & 0o777).toString(8)).toBe("600");
    expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
  });

  test("a token that is not good any more is refreshed, without a browser", async ({ startProgram }) => {
    server = await guarded(1);
    const { server: upstream } = server;
    const program = startProgram([process.execPath, COMMAND, "--upstream", upstream], {
      env: { BROWSER: browser, XDG_STATE_HOME: home, HOME: home },
    });
    program.say(`${initialize()}\n`, INITIALIZED, `${request(1, "ping")}\n`);
    await program.hears('"id":1');
    await delay(1200);
    server.revoke();
    program.say(`${request(2, "ping")}\n`);
    await program.hears('"id":2,"result"');
    program.stdin.end();
    expect((await program.end()).code).toBe(0);
    expect(readFileSync(visits, "utf8").split("\n").length - 1).toBe(1);
    expect(server.exchanges.map((form) => form["grant_type"])).toEqual(["authorization_code", "refresh_token"]);
  });

  test("clients by HTTP log in themselves: nobody's browser is opened here", async ({ startProgram }) => {
    server = await guarded();
    const program = startProgram([process.execPath, COMMAND, "--upstream", server.server, "--listen", "0"], {
      env: { BROWSER: browser, XDG_STATE_HOME: home, HOME: home },
    });
    await program.complains("listening");
    expect(existsSync(visits)).toBe(false);
    process.kill(program.pid, "SIGTERM");
    await program.end();
  });
});
