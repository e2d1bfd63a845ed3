import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Gate } from "../../../src/link/http/gate-answer.ts";
import { createGate, readTokenFile } from "../../../src/link/http/gate.ts";
import { createJwtGate } from "../../../src/link/http/gate-jwt.ts";

describe("a gate with tokens", () => {
  const gate = createGate({
    tokens: [
      { name: "ada", token: "0123456789abcdef" },
      { name: "bob", token: "fedcba9876543210==" },
    ],
  });

  test("knows who brings which, at once", () => {
    expect(gate.admit("Bearer 0123456789abcdef")).toEqual({ id: "ada" });
    expect(gate.admit("bearer  fedcba9876543210== ")).toEqual({ id: "bob" });
  });

  test.each([
    [null, "Bearer"],
    ["", "Bearer"],
    ["Basic 0123456789abcdef", "Bearer"],
    ["Bearer", 'Bearer error="invalid_token"'],
    ["Bearer ", 'Bearer error="invalid_token"'],
    ["Bearer 0123456789abcdeX", 'Bearer error="invalid_token"'],
    ["Bearer 0123456789abcde", 'Bearer error="invalid_token"'],
    ["Bearer 0123456789ABCDEF", 'Bearer error="invalid_token"'],
    ["Bearer 0123456789abcdef, Bearer x", 'Bearer error="invalid_token"'],
    [`Bearer ${"x".repeat(20_000)}`, 'Bearer error="invalid_token"'],
  ])("refuses %s", (authorization, challenge) => {
    expect(gate.admit(authorization)).toEqual({ status: 401, challenge });
  });
});

describe("a file of tokens", () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "tokens-"))));
  afterEach(() => rmSync(directory, { recursive: true }));

  function write(text: string, mode = 0o600): string {
    const file = join(directory, "tokens");
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
    return file;
  }

  test("has a name and a token on each line", () => {
    const text = "\uFEFF# who may\r\nada 0123456789abcdef\r\n\n  bob@home\tfedcba9876543210==  \n#eve x\n";
    expect(readTokenFile(write(text))).toEqual([
      { name: "ada", token: "0123456789abcdef" },
      { name: "bob@home", token: "fedcba9876543210==" },
    ]);
  });

  test.each([
    ["ada", "line 1: the line is not a name and a token"],
    ["\nada 0123456789abcdef more", "line 2: the line is not a name and a token"],
    ["a\u001b[0m 0123456789abcdef", "line 1: the name is not valid"],
    ["ada 0123456789abcdé0", "line 1: the token has characters that a header cannot carry"],
    ["ada 0123456789abcde", "line 1: the token is too short"],
    ["a 0123456789abcdef\na 1123456789abcdef", "line 2: the name is used twice"],
    ["a 0123456789abcdef\nb 0123456789abcdef", "line 2: the token is used twice"],
    ["# nobody", "has no tokens"],
  ])("is refused where it is %j", (text, reason) => {
    const file = write(text);
    const read = (): unknown => readTokenFile(file);
    expect(read).toThrow(reason);
    expect(read).toThrow(expect.objectContaining({ code: "BAD_TOKENS" }));
    expect(read).not.toThrow("0123456789abc");
  });

  test.runIf(process.platform !== "win32")("is refused where others may read it", () => {
    for (const mode of [0o640, 0o604, 0o660]) {
      expect(() => readTokenFile(write("ada 0123456789abcdef", mode))).toThrow("Others may read the tokens");
    }
  });

  test("is refused where it is none", () => {
    expect(() => readTokenFile(join(directory, "none"))).toThrow(
      expect.objectContaining({ code: "FILE_NOT_READABLE" }),
    );
    expect(() => readTokenFile(directory)).toThrow(expect.objectContaining({ code: "FILE_NOT_READABLE" }));
  });
});

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

describe("a gate with an issuer", () => {
  const issuer = "https://issuer.example";
  const audience = "https://fairlead.example/mcp";
  let jwks: string;
  let keys: object[] = [];
  let asked = 0;
  let status = 200;
  let clock: number;
  let gate: Gate;
  let pair: Awaited<ReturnType<typeof generateKeyPair>>;

  const server = createServer((_, response) => {
    asked++;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ keys }));
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    pair = await generateKeyPair("ES256");
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    keys = [{ ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" }];
    asked = 0;
    status = 200;
    clock = Date.now();
    gate = createJwtGate({ jwks, issuer, audience, scopes: ["mcp"] }, () => clock);
  });

  /** A good token, but for what is said. */
  async function sign(
    claims: Record<string, unknown> = {},
    header: object = {},
    key = pair.privateKey,
  ): Promise<string> {
    const now = Math.floor(clock / 1000);
    const payload: JWTPayload = Object.assign(
      { iss: issuer, aud: audience, sub: "ada", scope: "mcp other", exp: now + 600 },
      claims,
    );
    return `Bearer ${await new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: "one", ...header }).sign(key)}`;
  }

  test("lets in whom the issuer has signed a token for, and asks for its keys once", async () => {
    for (const sub of ["ada", "bob"]) {
      expect(await gate.admit(await sign({ sub }))).toEqual({ id: `${issuer}|${sub}` });
    }
    expect(asked).toBe(1);
  });

  test("knows a token again, at once, until it has run out", async () => {
    const token = await sign({ exp: Math.floor(clock / 1000) + 100 });
    const principal = await gate.admit(token);
    expect(gate.admit(token)).toBe(principal);
    clock += 140_000;
    expect(await gate.admit(token)).toMatchObject({ status: 401 });
  });

  test("takes scopes as text and as a list", async () => {
    for (const claims of [
      { scope: "mcp" },
      { scope: undefined, scp: ["a", "mcp"] },
      { scope: undefined, scp: "a mcp" },
    ]) {
      expect(await gate.admit(await sign(claims))).toHaveProperty("id");
    }
  });

  test("refuses a token that is good for something else with 403", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="mcp"';
    expect(await gate.admit(await sign({ scope: "other mcpx" }))).toEqual({ status: 403, challenge });
    expect(await gate.admit(await sign({ scope: { mcp: true } }))).toEqual({ status: 403, challenge });
  });

  test.each([
    ["for somebody else", { aud: "https://other.example" }],
    ["for nobody", { aud: undefined }],
    ["of another issuer", { iss: "https://issuer.example/" }],
    ["that has run out", { exp: Math.floor(Date.now() / 1000) - 60 }],
    ["that never runs out", { exp: undefined }],
    ["that is not yet good", { nbf: Math.floor(Date.now() / 1000) + 120 }],
    ["of nobody", { sub: undefined }],
  ])("refuses a token %s", async (_, claims) => {
    const challenge = 'Bearer error="invalid_token", scope="mcp"';
    expect(await gate.admit(await sign(claims))).toEqual({ status: 401, challenge });
  });

  test("lets clocks differ a little", async () => {
    const now = Math.floor(clock / 1000);
    expect(await gate.admit(await sign({ exp: now - 10, nbf: now + 10 }))).toHaveProperty("id");
  });

  test("refuses what nobody has signed, somebody else has, or the public key has", async () => {
    const other = await generateKeyPair("ES256");
    const payload = encode({ iss: issuer, aud: audience, sub: "ada", scope: "mcp", exp: clock });
    const secret = new TextEncoder().encode(JSON.stringify(keys[0]));
    const symmetric = await new SignJWT({ iss: issuer, aud: audience, sub: "ada", scope: "mcp", exp: clock })
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(secret);
    const good = await sign();
    const tokens = [
      `Bearer ${encode({ alg: "none" })}.${payload}.`,
      `Bearer ${symmetric}`,
      await sign({}, {}, other.privateKey),
      await sign({}, { typ: "logout+jwt" }),
      good.replace(/\.[^.]+\./, `.${payload}.`),
      good.slice(0, -3),
      "Bearer a.b.c",
    ];
    for (const token of tokens) expect(await gate.admit(token), token).toMatchObject({ status: 401 });
    expect(await gate.admit(good)).toHaveProperty("id");
  });

  test("does not ask for keys again and again because of tokens nobody can know", async () => {
    await gate.admit(await sign());
    for (let round = 0; round < 5; round++) await gate.admit(await sign({}, { kid: `unknown${round}` }));
    expect(asked).toBe(1);
  });

  test("refuses all while the keys cannot be had, and does not ask at every turn", async () => {
    status = 500;
    const token = await sign();
    for (let round = 0; round < 5; round++) expect(await gate.admit(token)).toMatchObject({ status: 401 });
    expect(asked).toBe(1);
    status = 200;
    clock += 6000;
    expect(await gate.admit(token)).toHaveProperty("id");
  });

  test("says what is needed to who brings nothing", () => {
    expect(gate.admit(null)).toEqual({ status: 401, challenge: 'Bearer scope="mcp"' });
  });

  test("is loaded when somebody comes", async () => {
    const lazy = createGate({ jwks, issuer, audience });
    const token = await sign();
    expect(await lazy.admit(token)).toEqual({ id: `${issuer}|ada` });
    expect(lazy.admit(token)).toEqual({ id: `${issuer}|ada` });
  });

  test("is not made where its keys could be replaced on the way", () => {
    for (const url of ["http://issuer.example/keys", "file:///keys", "keys", "http://127.0.0.1.example/"]) {
      expect(() => createGate({ jwks: url, issuer, audience }), url).toThrow("not at an https URL");
    }
    expect(() => createGate({ jwks, issuer, audience, scopes: ['a" b'] })).toThrow("Not a scope");
  });
});
