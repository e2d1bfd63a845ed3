import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLogin, type Login, type LoginOptions } from "../../src/login/login.ts";
import {
  type AuthorizationFixture,
  browse,
  type Habits,
  startAuthorizationServer,
} from "../fixtures/authorization-server.ts";

let directory: string;
let clock: number;
const running: AuthorizationFixture[] = [];
const pages: string[] = [];
const said: string[] = [];
const shown: Promise<string>[] = [];

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "login-")), "logins");
  clock = Date.now();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((fixture) => fixture.close()));
  for (const list of [pages, said, shown]) list.length = 0;
  rmSync(join(directory, ".."), { recursive: true, force: true });
});

async function start(habits: Habits = {}): Promise<AuthorizationFixture> {
  const fixture = await startAuthorizationServer(habits);
  running.push(fixture);
  return fixture;
}

/** A login with a person at the browser. */
function login(fixture: AuthorizationFixture, options: Partial<LoginOptions> = {}): Login {
  return createLogin(
    {
      server: fixture.server,
      directory,
      timeoutMs: 5000,
      openBrowser(page) {
        pages.push(page);
        shown.push(browse(page).catch(String));
      },
      say: (text) => said.push(text),
      ...options,
    },
    { now: () => clock },
  );
}

/** Knocks with what we have, answers what it is asked, and knocks again. */
async function enter(fixture: AuthorizationFixture, one: Login): Promise<number> {
  const token = await one.token();
  const { status, challenge } = await fixture.knock(token);
  if (status === 200) return status;
  return (await fixture.knock(await one.answer(challenge, token))).status;
}

const files = (): string[] => readdirSync(directory);
const stored = (): string => readFileSync(join(directory, files()[0]), "utf8");

describe("a login", () => {
  test("brings a token that opens the server", async () => {
    const fixture = await start();
    const one = login(fixture);
    expect(await one.token()).toBeNull();
    expect(await enter(fixture, one)).toBe(200);
    expect(await one.token()).toMatch(/^[0-9a-f]{32}$/);
    expect(pages).toHaveLength(1);
    expect(await shown[0]).toContain("You may close this window");
  });

  test("asks for what the server says it needs, for that server, with a proof of its own", async () => {
    const fixture = await start({ scope: "files" });
    await enter(fixture, login(fixture));
    const query = Object.fromEntries(new URL(pages[0]).searchParams);
    expect(query).toMatchObject({ scope: "files", resource: fixture.server, code_challenge_method: "S256" });
    expect(query["redirect_uri"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(query["state"]).toMatch(/^[\w-]{43}$/);
    expect(fixture.exchanges[0]).toMatchObject({ grant_type: "authorization_code", resource: fixture.server });
    expect(fixture.registrations[0]).toMatchObject({ application_type: "native", token_endpoint_auth_method: "none" });
  });

  test("asks for what the server knows of where it does not say, or for what the user says", async () => {
    const fixture = await start();
    await enter(fixture, login(fixture));
    await login(fixture, { scopes: ["tools"], clientId: "unknown", timeoutMs: 100 })
      .answer(null, null)
      .catch(String);
    expect(pages.map((page) => new URL(page).searchParams.get("scope"))).toEqual(["tools files", "tools"]);
  });

  test("is kept for the next time, for its owner only", async () => {
    const fixture = await start();
    await enter(fixture, login(fixture));
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(files()).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.json$/)]);
    expect(statSync(join(directory, files()[0])).mode & 0o777).toBe(0o600);
    expect(await enter(fixture, login(fixture))).toBe(200);
    expect(pages).toHaveLength(1);
  });

  test("is for one server only", async () => {
    const [one, other] = [await start(), await start()];
    await enter(one, login(one));
    expect(await login(other).token()).toBeNull();
    // Not even for one whose file it is made to be.
    writeFileSync(
      join(directory, files()[0]),
      stored().replace(`"server": "${one.server}"`, `"server": "${other.server}"`),
    );
    expect(await login(one).token()).toBeNull();
  });

  test("says nothing that is secret, and nothing that drives a terminal", async () => {
    const fixture = await start();
    await enter(fixture, login(fixture));
    const [{ code, code_verifier: verifier }] = fixture.exchanges;
    const text = said.join("\n");
    for (const secret of [await login(fixture).token(), code, verifier]) expect(text).not.toContain(String(secret));
    expect(text).toMatch(/^[ -~\n]*$/);
    expect(said[0]).toBe(`Log in to ${fixture.server} in your browser. If none opens, open this page:\n${pages[0]}`);
  });

  test("is one for all who wait for it", async () => {
    const fixture = await start();
    const one = login(fixture);
    const { challenge } = await fixture.knock(null);
    const tokens = await Promise.all([1, 2, 3].map(() => one.answer(challenge, null)));
    expect(new Set(tokens).size).toBe(1);
    expect(pages).toHaveLength(1);
  });

  test("works though no browser can be opened", async () => {
    const fixture = await start();
    const one = login(fixture, {
      openBrowser: () => {
        throw new Error("no browser");
      },
      say: (text) => void browse(text.split("\n")[1] ?? fixture.server),
    });
    expect(await enter(fixture, one)).toBe(200);
  });
});

/** Registers a client by hand. */
async function registered({ issuer }: AuthorizationFixture): Promise<string> {
  const body = JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] });
  const response = await fetch(`${issuer}/register`, { method: "POST", body });
  return ((await response.json()) as { client_id: string }).client_id;
}

/** Has been logged in, and is not any more. Says the token it had. */
async function leave(fixture: AuthorizationFixture, one: Login): Promise<string | null> {
  await enter(fixture, one);
  fixture.revokeAll();
  clock += 60_000;
  return one.token();
}

/** The metadata of a server with other issuers. */
function named(path: string, document: Record<string, unknown>, issuers: string[] | null): Record<string, unknown> {
  if (issuers === null || !path.includes("oauth-protected-resource")) return document;
  return { ...document, authorization_servers: issuers };
}

describe("a server that moves to another issuer", () => {
  test("has us register there, and nothing of the old issuer is shown to the new one", async () => {
    let issuers: string[] | null = null;
    const [fixture, other] = [
      await start({ answer: (path, document) => named(path, document, issuers) }),
      await start(),
    ];
    const one = login(fixture);
    const refused = await leave(fixture, one);
    issuers = [other.issuer];
    const before = JSON.parse(stored()) as { client: { id: string }; grant: { refreshToken: string } };
    expect(await one.answer(null, refused)).not.toBe(refused);
    expect(other.registrations).toHaveLength(1);
    expect(other.exchanges).toMatchObject([{ grant_type: "authorization_code", resource: fixture.server }]);
    expect(JSON.stringify([other.exchanges, other.requests])).not.toContain(before.client.id);
  });

  test("does not get what we are known by at the old one, where that was given to us", async () => {
    let issuers: string[] | null = null;
    const [fixture, other] = [
      await start({ answer: (path, document) => named(path, document, issuers) }),
      await start(),
    ];
    const one = login(fixture, { clientId: await registered(fixture), clientSecret: "secret" });
    const refused = await leave(fixture, one);
    issuers = [other.issuer];
    await expect(one.answer(null, refused)).rejects.toThrow("the server now sends us to another issuer");
    expect(other.requests).toEqual(["GET /.well-known/oauth-authorization-server/issuer"]);
  });
});

describe("a client that somebody registered by hand", () => {
  test("is used, and no other is registered", async () => {
    const fixture = await start();
    const clientId = await registered(fixture);
    expect(await enter(fixture, login(fixture, { clientId }))).toBe(200);
    expect(new URL(pages[0]).searchParams.get("client_id")).toBe(clientId);
    expect(fixture.registrations).toHaveLength(1);
    expect(await login(fixture, { clientId: "another" }).token()).toBeNull();
  });

  test("is asked for where nobody else can be registered", async () => {
    const fixture = await start({
      answer: (path, document) => ({
        ...document,
        ...(path.includes("oauth-auth") && { registration_endpoint: undefined }),
      }),
    });
    await expect(login(fixture).answer(null, null)).rejects.toThrow(
      expect.objectContaining({ remedy: "Register there by hand, and give the client id you get" }),
    );
  });
});

describe("a token", () => {
  test("is refreshed before it runs out, and nobody is asked", async () => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    const first = await one.token();
    clock += 3_545_000;
    const second = await one.token();
    expect(second).not.toBe(first);
    expect((await fixture.knock(second)).status).toBe(200);
    expect(fixture.exchanges[1]).toMatchObject({ grant_type: "refresh_token", resource: fixture.server });
    expect(pages).toHaveLength(1);
  });

  test("is refreshed when the server does not want it any more", async () => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    clock += 60_000;
    fixture.revoke();
    expect(await enter(fixture, one)).toBe(200);
    expect(pages).toHaveLength(1);
  });

  test("is refreshed each time with the newest refresh token", async () => {
    const fixture = await start({ lifetime: 60 });
    const one = login(fixture);
    await enter(fixture, one);
    for (let round = 0; round < 3; round++) {
      clock += 55_000;
      expect((await fixture.knock(await one.token())).status).toBe(200);
    }
    expect(pages).toHaveLength(1);
  });

  test("leads to a login where it cannot be refreshed, by the client that was registered", async () => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    clock += 60_000;
    fixture.revokeAll();
    expect(await enter(fixture, one)).toBe(200);
    expect(pages).toHaveLength(2);
    expect(fixture.registrations).toHaveLength(1);
  });

  test("is null when it has run out and cannot be refreshed", async () => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    fixture.revokeAll();
    clock += 3_545_000;
    expect(await one.token()).not.toBeNull();
    clock += 3_600_000;
    expect(await one.token()).toBeNull();
    expect(fixture.exchanges.filter((form) => form["grant_type"] === "refresh_token")).toHaveLength(1);
  });

  test("stays in use while the issuer cannot be reached", async () => {
    let isDown = false;
    const fixture = await start({
      instead: (path, response) => isDown && path.includes("issuer") && response.destroy() !== null,
    });
    const one = login(fixture);
    await enter(fixture, one);
    const first = await one.token();
    isDown = true;
    clock += 3_545_000;
    expect(await one.token()).toBe(first);
    isDown = false;
    clock += 11_000;
    expect(await one.token()).not.toBe(first);
  });

  test("that is good for too little leads to a login for more", async () => {
    const fixture = await start({ scope: "tools" });
    const one = login(fixture);
    await enter(fixture, one);
    fixture.demand("files");
    expect(await enter(fixture, one)).toBe(200);
    expect(pages.map((page) => new URL(page).searchParams.get("scope"))).toEqual(["tools", "files tools"]);
  });

  test("that another process has refreshed is taken from it", async () => {
    const fixture = await start();
    const [one, other] = [login(fixture), login(fixture)];
    await enter(fixture, one);
    await enter(fixture, other);
    clock += 3_545_000;
    const tokens = [await one.token(), await other.token()];
    expect(tokens[0]).toBe(tokens[1]);
    expect(fixture.exchanges).toHaveLength(2);
  });
});

/** What went wrong. */
function failure(one: Login): Promise<string> {
  return one.answer(null, null).then(
    () => "it worked",
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  );
}

describe("a login fails", () => {
  test("where nobody logs in, in time", async () => {
    const fixture = await start();
    const one = login(fixture, { openBrowser: () => {}, timeoutMs: 50 });
    expect(await failure(one)).toBe("LOGIN_FAILED: Login failed: no login within 0 s");
    expect(files()).toEqual([]);
  });

  test("where the person says no, and what the issuer says about it cannot drive the terminal", async () => {
    const fixture = await start({
      redirect(location) {
        location.searchParams.delete("code");
        location.searchParams.set("error", "access_denied");
        location.searchParams.set("error_description", "no\u001b[31m\nreally");
        return location;
      },
    });
    const one = login(fixture);
    expect(await failure(one)).toBe("LOGIN_FAILED: Login failed: it was refused (access_denied: no?[31m?really)");
    expect(await shown[0]).toContain("refused");
  });

  test("once for all who ask within a moment, so that no window opens for each", async () => {
    const fixture = await start();
    const one = login(fixture, { openBrowser: (page) => pages.push(page), timeoutMs: 50 });
    await failure(one);
    await failure(one);
    expect(pages).toHaveLength(1);
    clock += 11_000;
    await failure(one);
    expect(pages).toHaveLength(2);
  });

  test("where the answer comes from another issuer, or does not say from whom", async () => {
    for (const iss of ["https://elsewhere.example", null]) {
      const fixture = await start({
        redirect(location) {
          if (iss === null) location.searchParams.delete("iss");
          else location.searchParams.set("iss", iss);
          return location;
        },
      });
      expect(await failure(login(fixture))).toContain("the response came from another authorization server");
      expect(fixture.exchanges).toEqual([]);
    }
  });

  test("where the server refuses the token it has just given", async () => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    fixture.revoke();
    await expect(enter(fixture, one)).rejects.toThrow("the server refuses the token it has just given");
    expect(pages).toHaveLength(1);
  });

  test("where the server wants what it has been given", async () => {
    const fixture = await start({ scope: "tools" });
    const one = login(fixture);
    await enter(fixture, one);
    const again = one.answer('Bearer error="insufficient_scope", scope="tools"', await one.token());
    await expect(again).rejects.toThrow("as not enough");
  });

  test("where the token would be more than one header", async () => {
    const fixture = await start({
      answer: (path, document) =>
        path.endsWith("/token") ? { ...document, access_token: "a\r\nX-Evil: 1" } : document,
    });
    expect(await failure(login(fixture))).toContain("the token has characters that are not allowed, or is too long");
  });

  test("where the server is not reached over https, and no token is sent there", async () => {
    const one = createLogin({
      server: "http://server.example/mcp",
      directory,
      timeoutMs: 50,
      openBrowser: () => {},
      say: () => {},
    });
    expect(await one.token()).toBeNull();
    expect(await failure(one)).toBe(
      "LOGIN_FAILED: Login failed: the server is not an https URL: http://server.example",
    );
  });

  test("where others may write to the directory", async () => {
    const fixture = await start();
    const shared = mkdtempSync(join(directory, "..", "x"));
    chmodSync(shared, 0o777);
    expect(await failure(login(fixture, { directory: shared }))).toBe(
      `FILE_NOT_WRITABLE: Cannot keep logins in ${shared}`,
    );
  });

  test("and the next one registers anew, in case the issuer has forgotten us", async () => {
    const fixture = await start();
    await enter(fixture, login(fixture));
    fixture.revokeAll();
    clock += 60_000;
    const refused = await login(fixture).token();
    await login(fixture, { openBrowser: () => {}, timeoutMs: 50 })
      .answer(null, refused)
      .catch(String);
    expect(await enter(fixture, login(fixture))).toBe(200);
    expect(fixture.registrations).toHaveLength(2);
  });
});

describe("a file that is not ours to trust", () => {
  test.each(["", "{", "[]", '{"version":2}', '{"version":1,"server":1}', "null"])("is no login: %s", async (text) => {
    const fixture = await start();
    const one = login(fixture);
    await enter(fixture, one);
    writeFileSync(join(directory, files()[0]), text);
    expect(await login(fixture).token()).toBeNull();
  });
});
