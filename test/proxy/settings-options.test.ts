import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { composeJsonSchema } from "../../src/config/json-schema.ts";
import { mergeSettings, type OwnSettings, type Settings } from "../../src/config/merge-settings.ts";
import { loadPolicyFile, optionsFromPolicy } from "../../src/proxy/load-policy.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-settings-"));
writeFileSync(join(folder, "tokens.txt"), "me 0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function load(text: string) {
  const file = join(folder, "p.yaml");
  writeFileSync(file, text);
  return loadPolicyFile(file, {});
}

/** What a program makes of a file: options for a proxy, and the settings of the audit log and of the log. */
async function outcome(text: string): Promise<Omit<ProxyOptions, "audit" | "log"> & Pick<Settings, "audit" | "log">> {
  const loaded = await load(text);
  const { audit, log } = mergeSettings(loaded.settings, {});
  return { ...(await optionsFromPolicy(loaded)), audit, log };
}

// For every key of these sections two files: without it, and with it. What comes of them must differ.
const URL = "url: 'http://h/mcp'";
const KEYS: Readonly<Record<string, Readonly<Record<string, readonly [without: string, with_: string]>>>> = {
  upstream: {
    url: ["command: [a]", URL],
    headers: [URL, `${URL}, headers: { A: b }`],
    on_loss: [URL, `${URL}, on_loss: keep`],
    command: ["command: [a]", "command: [b]"],
    env: ["command: [a]", "command: [a], env: { A: b }"],
    cwd: ["command: [a]", "command: [a], cwd: sub"],
  },
  limits: Object.fromEntries(
    [
      ["max_message", "1MB"],
      ["max_depth", "9"],
      ["max_buffer", "1MB"],
      ["max_open_calls", "9"],
      ["max_sessions", "9"],
      ["max_parked", "1MB"],
      ["max_children", "9"],
      ["max_connections", "9"],
      ["max_upstream_connections", "9"],
    ].map(([key, value]) => [key, ["", `${key}: ${value}`]]),
  ),
  timeouts: Object.fromEntries(
    ["connection", "tool_list", "child_grace", "session_idle", "slow_reader"].map((key) => [key, ["", `${key}: 7s`]]),
  ),
  audit: {
    file: ["file: a", "file: b"],
    level: ["file: a", "file: a, level: all"],
    on_error: ["file: a", "file: a, on_error: block"],
    include: ["file: a", "file: a, include: { fields: [client] }"],
  },
  auth: {
    tokens: ["identity_header: X-A", "tokens: tokens.txt"],
    jwks: ["jwks: 'https://h/k', issuer: i, audience: a", "jwks: 'https://h/l', issuer: i, audience: a"],
    issuer: ["jwks: 'https://h/k', issuer: i, audience: a", "jwks: 'https://h/k', issuer: j, audience: a"],
    audience: ["jwks: 'https://h/k', issuer: i, audience: a", "jwks: 'https://h/k', issuer: i, audience: b"],
    scopes: ["jwks: 'https://h/k', issuer: i, audience: a", "jwks: 'https://h/k', issuer: i, audience: a, scopes: [s]"],
    identity_header: ["identity_header: X-A", "identity_header: X-B"],
  },
  log: {
    level: ["", "level: debug"],
    format: ["", "format: json"],
    file: ["", "file: f"],
  },
};

/** Read from the policy itself, which goes along as a whole. */
const IN_POLICY = ["version", "tools", "prompts", "resources", "validate", "interceptor", "state"];
/** For versions to come: a mistake where they are used. */
const LATER = ["record", "experiments", "anomaly", "dashboard", "metrics", "tracing"];

interface SchemaNode {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
}

/** The keys that a section may have, by the schema of the policy file. */
function keysOf(node: SchemaNode, root: { readonly $defs?: Readonly<Record<string, SchemaNode>> }): string[] {
  const { $ref, properties = {}, anyOf = [], oneOf = [] } = node;
  const referred = $ref === undefined ? undefined : root.$defs?.[$ref.split("/").at(-1) ?? ""];
  return [
    ...Object.keys(properties),
    ...[...anyOf, ...oneOf, ...(referred === undefined ? [] : [referred])].flatMap((each) => keysOf(each, root)),
  ];
}

const SCHEMA = composeJsonSchema() as SchemaNode & { readonly $defs?: Readonly<Record<string, SchemaNode>> };

describe("no setting of a policy file is lost", () => {
  test("every section of the schema is accounted for", () => {
    const sections = Object.keys(SCHEMA.properties ?? {}).filter((key) => key !== "$schema");
    expect(sections.sort()).toEqual([...Object.keys(KEYS), "listen", ...IN_POLICY, ...LATER].sort());
  });

  test.each(Object.keys(KEYS))("every key of %s has a line here", (section) => {
    const keys = new Set(keysOf(SCHEMA.properties?.[section] ?? {}, SCHEMA));
    expect([...keys].sort()).toEqual(Object.keys(KEYS[section]).sort());
  });

  const cases = Object.entries(KEYS).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, [without, with_]]) => ({ name: `${section}.${key}`, section, without, with_ })),
  );
  test.each(cases)("$name reaches the proxy", async ({ section, without, with_ }) => {
    const write = (members: string): string => `listen: 1\n${section}: { ${members} }\n`;
    const { policy: _, ...before } = await outcome(write(without));
    const { policy: __, ...after } = await outcome(write(with_));
    expect(after).not.toEqual(before);
  });

  test("where clients come in reaches the proxy", async () => {
    expect((await outcome('listen: "[::1]:8808"\n')).listen).toEqual({ host: "::1", port: 8808 });
  });

  test("rules and filters go along with the policy", async () => {
    const { policy, policyFolder } = await outcome("prompts: { deny: [a] }\nstate: { ttl: 1m }\n");
    expect(policy).toMatchObject({ prompts: { deny: [{ source: "a" }] }, state: { ttlMs: 60_000 } });
    expect(policyFolder).toBe(folder);
  });
});

describe("what a program says itself wins", () => {
  const FILE = `upstream: { ${URL}, headers: { Authorization: a, X-B: b }, on_loss: keep }\nlimits: { max_depth: 9, max_sessions: 8 }\ntools: { deny: [a], allow: [b] }\n`;
  const merged = async (own: OwnSettings): Promise<ProxyOptions> => optionsFromPolicy(await load(FILE), own);

  test("another server gets nothing that belongs to the one in the file", async () => {
    const other = await merged({ url: "http://other/mcp" });
    expect(other).toMatchObject({ upstream: "http://other/mcp", headers: {}, onLoss: "exit" });
    const command = await merged({ command: ["node"] });
    expect(command).toMatchObject({ command: ["node"], env: {} });
    expect(command).not.toHaveProperty("upstream");
  });

  test("setting by setting, and header by header whatever its capitals", async () => {
    const { headers, limits } = await merged({
      headers: new Map([["authorization", "mine"]]),
      limits: { maxDepth: 5 },
    });
    expect(headers).toEqual({ "X-B": "b", authorization: "mine" });
    expect(limits).toEqual({ maxDepth: 5, maxSessions: 8 });
  });

  test("an empty list is a list", async () => {
    expect(await merged({ deny: [] })).toMatchObject({ deny: [], allow: [{ source: "b" }] });
  });
});
