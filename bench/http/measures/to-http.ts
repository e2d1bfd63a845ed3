import type { Measure } from "../../measure.ts";
import { composeCall, nextId } from "../../messages.ts";
import type { Peer } from "../../peer.ts";
import { CONNECTIONS, noteRates } from "../rates.ts";
import type { HttpStage } from "../stage.ts";

/** A stdio client of an HTTP server, with many open calls. */
export const toHttp: Measure<HttpStage> = {
  name: "to-http",
  variants: ["bare", "fairlead", "mcp-remote", "supergateway"],
  async round(stage, note) {
    await stage.withPeers(async (peers) => {
      const takers = [...peers].map(([variant, peer]) => {
        return [variant, { pid: peer.pid, call: (count: number) => callAhead(peer, count) }] as const;
      });
      await noteRates(stage, new Map(takers), note);
    });
  },
};

/** Keeps calls open until `count` are answered, in any order. Returns the total time in milliseconds. */
async function callAhead(peer: Peer, count: number): Promise<number> {
  const open = new Set<string>();
  const heard: Buffer[] = [];
  let sent = 0;
  let answered = 0;

  function send(calls: number): void {
    for (let nth = 0; nth < calls && sent < count; nth++, sent++) {
      const id = nextId();
      open.add(String(id));
      void peer.tell(composeCall(id));
    }
  }

  const began = performance.now();
  const all = peer.follow((lines) => {
    heard.push(peer.last);
    answered += lines;
    send(lines);
    return answered >= count;
  });
  send(CONNECTIONS);
  await all;
  const time = performance.now() - began;
  // Checked only now, so that it does not count.
  for (const line of Buffer.concat(heard).toString("latin1").trimEnd().split("\n")) {
    const id = /"id":(\d+)/.exec(line)?.[1] ?? "";
    if (!open.delete(id) || !line.includes("hello")) throw new Error(`no answer to any call: ${line}`);
  }
  if (open.size > 0) throw new Error(`${open.size} calls without an answer`);
  return time;
}
