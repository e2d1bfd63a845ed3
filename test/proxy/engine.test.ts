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
