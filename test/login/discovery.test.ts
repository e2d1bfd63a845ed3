import { afterEach, describe, expect, test } from "vitest";
import { parseChallenge } from "../../src/login/challenge.ts";
import { discover, type Place } from "../../src/login/discovery.ts";
import { createFetch } from "../../src/link/fetch.ts";
import { type AuthorizationFixture, type Habits, startAuthorizationServer } from "../fixtures/authorization-server.ts";

const running: AuthorizationFixture[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((fixture) => fixture.close()));
});

async function start(habits: Habits = {}): Promise<AuthorizationFixture> {
  const fixture = await startAuthorizationServer(habits);
  running.push(fixture);
  return fixture;
}

const fetch = createFetch({ nearest: 2, ca: null, dial: null });

async function find(fixture: AuthorizationFixture, challenge: string | null = null): Promise<Place> {
  return discover(fetch, new URL(fixture.server), parseChallenge(challenge));
}

/** Changes the document at a path that ends so. */
function change(ending: string, members: Record<string, unknown>): Habits {
  return { answer: (path, document) => (path.includes(ending) ? { ...document, ...members } : document) };
}

const RESOURCE = "oauth-protected-resource";
const ISSUER = "oauth-authorization-server";

describe("where one logs in", () => {
  test("is what the server's metadata says, at the path of the server", async () => {
    const fixture = await start();
    expect(await find(fixture)).toMatchObject({
      issuer: { issuer: fixture.issuer },
      isGuessed: false,
      resource: fixture.server,
      scopes: ["tools", "files"],
    });
    expect(fixture.requests).toEqual([
      "GET /.well-known/oauth-protected-resource/mcp",
      "GET /.well-known/oauth-authorization-server/issuer",
    ]);
  });

  test("is looked for first where the challenge says", async () => {
    const fixture = await start({
      instead(path, response, { server, issuer }) {
        if (path !== "/here") return false;
        response.end(JSON.stringify({ resource: server, authorization_servers: [issuer] }));
        return true;
      },
    });
    await find(fixture, `Bearer resource_metadata="${fixture.origin}/here"`);
    expect(fixture.requests[0]).toBe("GET /here");
  });

  test("is not looked for on another host because the challenge says so", async () => {
    const [fixture, other] = [await start(), await start()];
    await find(fixture, `Bearer resource_metadata="${other.origin}/.well-known/oauth-protected-resource/mcp"`);
    expect(other.requests).toEqual([]);
  });

  test("may be said at the root, for all that is below", async () => {
    const fixture = await start({
      instead(path, response, { origin, issuer }) {
        if (path !== "/.well-known/oauth-protected-resource") return path.includes(RESOURCE) && end(response, 404);
        response.end(JSON.stringify({ resource: origin, authorization_servers: [issuer] }));
        return true;
      },
    });
    expect(await find(fixture)).toMatchObject({ resource: fixture.origin });
  });

  test("may be said in OpenID Connect's two places", async () => {
    for (const place of ["/.well-known/openid-configuration/issuer", "/issuer/.well-known/openid-configuration"]) {
      const fixture = await start({
        instead(path, response, { issuer }) {
          if (path.includes(ISSUER)) return end(response, 404);
          if (path !== place) return false;
          const endpoints = { authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/t` };
          response.end(JSON.stringify({ issuer, ...endpoints }));
          return true;
        },
      });
      expect((await find(fixture)).issuer.token_endpoint).toBe(`${fixture.issuer}/t`);
    }
  });

  test("is the server itself for servers of 2025-03-26, with metadata or without", async () => {
    const fixture = await start({ isOld: true });
    expect(await find(fixture)).toMatchObject({ isGuessed: false, resource: null, issuer: { issuer: fixture.origin } });
    const bare = await start({ isOld: true, answer: (path, document) => (path.includes(ISSUER) ? null : document) });
    expect(await find(bare)).toMatchObject({
      isGuessed: true,
      resource: null,
      issuer: {
        authorization_endpoint: `${bare.origin}/authorize`,
        token_endpoint: `${bare.origin}/token`,
        registration_endpoint: `${bare.origin}/register`,
      },
    });
  });

  test("is found over a redirect within the server, and not beyond it", async () => {
    const other = await start();
    const fixture = await start({
      instead(path, response, { origin }) {
        if (path.includes("/mcp")) response.writeHead(302, { location: `${origin}/moved` }).end();
        else if (path.includes(RESOURCE)) response.writeHead(302, { location: `${other.origin}/stolen` }).end();
        else return false;
        return true;
      },
    });
    await find(fixture).catch(() => {});
    expect(fixture.requests).toContain("GET /moved");
    expect(other.requests).toEqual([]);
  });
});

function end(response: { writeHead(status: number): { end(): void } }, status: number): true {
  response.writeHead(status).end();
  return true;
}

describe("metadata is refused", () => {
  test.each([
    [
      "that speaks for another server",
      change(RESOURCE, { resource: "https://bank.example/mcp" }),
      "speaks for https://bank.example/mcp",
    ],
    ["that speaks for nobody", change(RESOURCE, { resource: undefined }), "speaks for nothing"],
    ["that speaks for a sibling", { answer: sibling }, "speaks for"],
    [
      "that names an issuer over http",
      change(RESOURCE, { authorization_servers: ["http://x.example"] }),
      "not an https URL: http://x.example",
    ],
    ["that names no URL", change(RESOURCE, { authorization_servers: [7] }), "the authorization server is not a URL"],
    ["of another issuer", change(ISSUER, { issuer: "https://bank.example" }), "is not its own"],
    [
      "that would have a script opened",
      change(ISSUER, { authorization_endpoint: "javascript:alert(1)" }),
      "not an https URL: javascript:",
    ],
    [
      "that would have a file opened",
      change(ISSUER, { authorization_endpoint: "file:///etc/passwd" }),
      "not an https URL: file:",
    ],
    [
      "that would have tokens sent in the clear",
      change(ISSUER, { token_endpoint: "http://x.example/t" }),
      "the token endpoint is not an https URL",
    ],
    ["with a password in a URL", change(ISSUER, { token_endpoint: "https://a:b@x.example/t" }), "has a password in it"],
    [
      "of an issuer that knows no S256",
      change(ISSUER, { code_challenge_methods_supported: ["plain"] }),
      "does not know PKCE",
    ],
    ["of an issuer that has none", { answer: noIssuer }, "has no metadata of an authorization server"],
    ["that is too long", change(RESOURCE, { long: "x".repeat(300_000) }), "says too much"],
  ] as const)("%s", async (_, habits, reason) => {
    const fixture = await start(habits);
    await expect(find(fixture)).rejects.toThrow(reason);
  });
});

function sibling(
  path: string,
  document: Record<string, unknown>,
  { server }: AuthorizationFixture,
): Record<string, unknown> {
  return path.includes(RESOURCE) ? { ...document, resource: server.slice(0, -1) } : document;
}

function noIssuer(path: string, document: Record<string, unknown>): Record<string, unknown> | null {
  return path.includes(ISSUER) ? null : document;
}
