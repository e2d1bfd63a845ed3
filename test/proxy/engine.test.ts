import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { PolicySettings } from "../../src/policy/file/settings.ts";
import { loadPolicyFile } from "../../src/proxy/policy-file.ts";
import { openGateway } from "../support/near-gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-engine-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function policy(tools: string): Promise<PolicySettings> {
  const file = join(folder, "fairlead.yaml");
  writeFileSync(
    file,
    `${tools}interceptor:
  rules:
    - id: keep
      conditions: [{ method_equals: tools/list }]
      actions: [{ cache: { key: list, ttl: 1h, scope: shared } }]
`,
  );
  return (await loadPolicyFile(file, {})).settings;
}

test("a list from memory does not outlive the filter it passed", async () => {
  const gateway = await openGateway({ policy: await policy(""), policyFolder: folder });
  try {
    const session = await gateway.open();
    const list = async (id: number): Promise<string> =>
      JSON.stringify((await gateway.post({ id, method: "tools/list" }, session)).messages);
    expect(await list(1)).toContain("secret_one");
    await gateway.proxy.reload(await policy('tools: { deny: ["^secret_"] }\n'));
    expect(await list(2)).not.toContain("secret_one");
  } finally {
    await gateway.end();
  }
}, 30_000);

test("a rule knows a session by the id that the server gave it, and programs see what is counted of it", async () => {
  const file = join(folder, "sessions.yaml");
  writeFileSync(
    file,
    `interceptor:
  rules:
    - id: not-that-one
      conditions: [{ method_equals: ping }, { session_id_equals: nobody }]
      actions: [{ block: "not you" }]
`,
  );
  const load = async (wanted: string): Promise<PolicySettings> => {
    const { settings } = await loadPolicyFile(file, {});
    const [rule] = settings.interceptor.rules;
    const conditions = rule.conditions.map((one) => (one.is === "session_id_equals" ? { ...one, text: wanted } : one));
    return { ...settings, interceptor: { ...settings.interceptor, rules: [{ ...rule, conditions }] } };
  };
  const gateway = await openGateway({ policy: await load("nobody"), policyFolder: folder });
  try {
    const session = await gateway.open();
    const ping = async (id: number): Promise<string> =>
      JSON.stringify((await gateway.post({ id, method: "ping" }, session)).messages);
    expect(await ping(1)).toContain('"result"');
    await gateway.proxy.reload(await load(session["Mcp-Session-Id"]));
    expect(await ping(2)).toContain("not you");
    const [counted] = gateway.proxy.sessions();
    expect(counted.methodStats["ping"]).toMatchObject({ requests: 2, results: 1, errors: 0 });
    expect(counted.messageCount).toBeGreaterThan(3);
  } finally {
    await gateway.end();
  }
}, 30_000);

test("a client is told the name of an interceptor as the policy has it, and not where it is on this machine", async () => {
  const file = join(folder, "interceptors.yaml");
  writeFileSync(
    join(folder, "no.mjs"),
    'export default ({ method }) => (method === "ping" ? { action: "block", reason: "no" } : null);\n',
  );
  writeFileSync(file, "interceptor:\n  interceptors: [./no.mjs]\n");
  const { settings } = await loadPolicyFile(file, {});
  const gateway = await openGateway({ policy: settings, policyFolder: folder });
  try {
    const { messages } = await gateway.post({ id: 1, method: "ping" }, await gateway.open());
    expect(messages).toMatchObject([{ error: { message: "no", data: { rule: "./no.mjs", action: "block" } } }]);
    expect(JSON.stringify(messages)).not.toContain(folder);
  } finally {
    await gateway.end();
  }
}, 30_000);
