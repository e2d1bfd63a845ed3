import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { INITIALIZE, messagesIn } from "../support/near-gateway.ts";
import { fixture, type Program, type StartFairlead, test, until } from "../support/processes.ts";

const HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** Fairlead with three sessions and a request without one: four processes, each with one of its own. */
async function begin(start: StartFairlead): Promise<Program> {
  const program = start(fixture("obliging.mjs"), { options: ["--listen", "0"] });
  let log = "";
  program.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const url = await until(() => /listening url="?([^"\s]+)/.exec(log)?.[1], "listening");
  const post = async (message: object, headers: object = {}): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { ...HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const breed = { id: 1, method: "tools/call", params: { name: "breed", arguments: {} } };
  for (let nth = 0; nth < 3; nth++) {
    const session = (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "";
    const answer = messagesIn(await (await post(breed, { "Mcp-Session-Id": session })).text());
    expect(answer[0].result).toHaveProperty("bred");
  }
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const params = { ...breed.params, _meta: meta };
  const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "breed" };
  expect((await post({ ...breed, params }, headers)).status).toBe(200);
  const family = program.family().filter(({ command }) => /^\S*node \S*obliging\.mjs$|^sleep 1000$/.test(command));
  expect(family.length).toBe(8);
  return program;
}

describe("processes behind --listen, and all they started, end with Fairlead", () => {
  for (const [name, signal, code] of [
    ["SIGTERM", "SIGTERM", 0],
    ["SIGINT", "SIGINT", 0],
    ["kill -9", "SIGKILL", null],
  ] as const) {
    test(name, async ({ start }) => {
      const program = await begin(start);
      process.kill(program.pid, signal);
      const end = await program.end(5000);
      expect({ code: end.code, left: end.left }).toEqual({ code, left: [] });
    });
  }

  test("a crash", async ({ start }) => {
    const program = await begin(start);
    process.kill(program.pid, "SIGSEGV");
    await delay(50);
    expect((await program.end(5000)).left).toEqual([]);
  });
});
