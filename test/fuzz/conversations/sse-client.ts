import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { ClientEnd } from "./client-end.ts";
import { readEvents } from "./event-reader.ts";
import { Complaint, isOver } from "./records.ts";
import type { Stage } from "./stage.ts";

/**
 * A client of the transport of 2024-11-05: one stream, and messages beside it. It speaks to the door at `port`. `mayEnd` says whether
 * its stream may end by itself.
 */
export function createSseClient(stage: Stage, number: number, port: number, mayEnd: () => boolean): ClientEnd {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let endpoint: string | null = null;
  let stream: ClientRequest | null = null;
  let response: IncomingMessage | null = null;
  let isHeld = false;

  function over(mine: ClientRequest, why: string): void {
    if (stream !== mine) return;
    stream = null;
    endpoint = null;
    stage.hear(() => {
      stage.note(`client ${number} hears the end of its stream: ${why}`);
      for (const ask of stage.ledger.asks) {
        if (ask.client !== number || isOver(ask)) continue;
        if (!mayEnd() && !ask.isCancelled)
          throw new Complaint(`the stream ended without an answer to request ${ask.number}`);
        ask.end = why;
      }
    });
  }

  return {
    prepare() {
      if (stream !== null) return endpoint !== null;
      stage.note(`client ${number} opens its stream`);
      const mine = request({ agent, port, host: "127.0.0.1", path: "/sse", headers: { Accept: "text/event-stream" } });
      stream = mine;
      isHeld = false;
      mine.on("error", (error) => over(mine, error.message));
      mine.on("response", (incoming) => {
        stage.pulse.beat();
        response = incoming;
        let tail = "";
        const take = readEvents(({ name, data }) => {
          stage.note(`client ${number} hears ${data ?? ""}`);
          if (name === "endpoint") endpoint = data;
          else if (data !== null && data !== "") stage.ledger.clientHears(number, data, { kind: "line", asks: [] });
        });
        incoming.setEncoding("utf8");
        incoming.on("data", (chunk: string) =>
          stage.hear(() => {
            stage.ledger.clientReceives(number, tail + chunk);
            tail = /<!?\d*$/.exec(chunk)?.[0] ?? "";
            take(chunk);
          }),
        );
        incoming.on("error", () => {});
        incoming.on("close", () => over(mine, "the stream ended"));
      });
      mine.end();
      return true;
    },
    get isReady() {
      return endpoint !== null;
    },
    send({ text, asks }) {
      stage.note(`client ${number} posts ${text}`);
      const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
      const sent = request({ agent, port, host: "127.0.0.1", path: endpoint ?? "/messages", method: "POST", headers });
      sent.on("error", () => stage.pulse.beat());
      sent.on("response", (answer) => {
        answer.resume();
        stage.hear(() => {
          const { statusCode: status = 0 } = answer;
          if (status < 300) return;
          stage.note(`client ${number} hears status ${status}`);
          for (const ask of asks) if (!isOver(ask)) ask.end = `status ${status}`;
        });
      });
      sent.end(text);
    },
    listen: () => false,
    leave: () => false,
    hold() {
      isHeld = response !== null;
      response?.pause();
      return isHeld;
    },
    read() {
      isHeld = false;
      response?.resume();
    },
    remove() {
      if (stream === null) return false;
      stage.note(`client ${number} closes its stream`);
      const mine = stream;
      stream = null;
      endpoint = null;
      mine.destroy();
      for (const ask of stage.ledger.asks) if (ask.client === number && !isOver(ask)) ask.end = "the client left";
      return true;
    },
    get isAlive() {
      return stream !== null;
    },
    hears: () => stream !== null && !isHeld,
    close() {
      const mine = stream;
      stream = null;
      mine?.destroy();
      agent.destroy();
    },
  };
}
