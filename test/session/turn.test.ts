import { expect, test, vi } from "vitest";
import type { Payload } from "../../src/message/message.ts";
import { denying, stage } from "../support/play.ts";
import { call, line, result, stageRules } from "../support/rules.ts";

const EDIT = `interceptor:
  rules:
    - id: shorten
      conditions: [{ method_equals: tools/call }, { direction: up }]
      actions: [{ remove_param: arguments.padding }]
    - id: slow
      conditions: [{ tool_matches: ^slow$ }, { direction: up }]
      actions: [{ delay: 2ms }]
    - id: answer
      conditions: [{ result_exists: secret }]
      actions: [{ set_result: { field: secret, value: gone } }]
`;

test("a turn keeps what came beside what a rule made of it", async () => {
  const { client, server, witness } = await stageRules(EDIT);
  const saw = vi.spyOn(witness, "saw");
  const messages = [call(1, "echo", { padding: "x" }), result(1, { secret: "y" }), call(2, "slow", { padding: "x" })];
  await client(messages[0]);
  await server(messages[1]);
  await client(messages[2]);
  await vi.waitFor(() => expect(saw).toHaveBeenCalledTimes(3));
  expect(saw.mock.calls.map(([{ came }]) => textOf(came))).toEqual(messages);
  const left = saw.mock.calls.map(([{ message }]) => textOf(message));
  expect(left).toEqual([call(1, "echo", {}), result(1, { secret: "gone" }), call(2, "slow", {})]);
});

test("a call that had to wait keeps a copy of what came, and not all that was read with it", async () => {
  const { client, server, witness, heard } = stage(denying("^secret_"));
  const saw = vi.spyOn(witness, "saw");
  const parked = call(1, "echo");
  await client(line({ id: 9, method: "ping", params: { text: "x".repeat(10_000) } }) + parked);
  const [, id] = /"id":("fairlead-[^"]+")/.exec(heard("server")) ?? [];
  await server(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}\n`);
  expect(saw).toHaveBeenCalledTimes(2);
  const [{ came }] = saw.mock.calls[1];
  expect(textOf(came)).toBe(parked);
  expect(came.bytes).toHaveLength(parked.length - 1);
});

function textOf({ bytes, start, end }: Payload): string {
  return `${bytes.toString("utf8", start, end)}\n`;
}
