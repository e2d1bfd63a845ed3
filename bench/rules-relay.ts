import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A server that answers every line, whatever it contains. */
const SERVER = `let next = 0;
process.stdin.on("data", (chunk) => {
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1))
    process.stdout.write('{"jsonrpc":"2.0","id":' + next++ + ',"result":{}}\\n');
});`;

const POLICIES = {
  passes:
    "interceptor: { rules: [{ id: r, conditions: [{ method_equals: prompts/get }], actions: [{ block: no }] }] }\n",
  changes:
    "interceptor: { rules: [{ id: r, conditions: [{ method_equals: tools/call }], actions: [{ set_param: { field: arguments.dry_run, value: true } }] }] }\n",
};

const WARM = 15;
const CALLS = 60;

/**
 * Nanoseconds per call of a megabyte through a real relay, one call after the other: with a rule that does not match,
 * or with one that changes the message.
 */
export async function timeRelay(
  how: keyof typeof POLICIES,
  { command, folder, args }: { readonly command: string; readonly folder: string; readonly args: object },
): Promise<number> {
  const policy = join(folder, `${how}.yaml`);
  const server = join(folder, "answering.cjs");
  writeFileSync(policy, POLICIES[how]);
  writeFileSync(server, SERVER);
  const words = [command, "--config", policy, "--log-level", "error", "--", process.execPath, server];
  const relay = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  let wake: (() => void) | undefined;
  relay.stdout.on("data", () => wake?.());
  let id = 0;
  const call = async (): Promise<void> => {
    const answered = new Promise<void>((resolve) => (wake = resolve));
    const params = { name: "write_rows", arguments: args };
    relay.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: id++, method: "tools/call", params })}\n`);
    await answered;
  };
  for (let nth = 0; nth < WARM; nth++) await call();
  const began = performance.now();
  for (let nth = 0; nth < CALLS; nth++) await call();
  const taken = performance.now() - began;
  relay.stdin.end();
  await new Promise((resolve) => relay.once("exit", resolve));
  return (taken * 1e6) / CALLS;
}
