import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { ClientEnd, Outgoing } from "./client-end.ts";
import { readEvents } from "./event-reader.ts";
import { type Ask, Complaint, isOver, type Way } from "./records.ts";
import type { Stage } from "./stage.ts";

/** A request of HTTP that has not been responded to, or not to the end. */
interface Exchange {
  readonly asks: readonly Ask[];
  readonly request: ClientRequest;
  response: IncomingMessage | null;
  isHeld: boolean;
  isLeft: boolean;
}

/** A client of Streamable HTTP: one session at a time. It speaks to the door at `port`. `isExpectedToBreak` says whether connections may break off. */
export function createHttpClient(
  stage: Stage,
  number: number,
  port: number,
  revision: string,
  isExpectedToBreak: () => boolean,
): ClientEnd {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const exchanges = new Set<Exchange>();
  let session: string | null = null;

  function open(method: string, headers: Record<string, string>, body: string | null, way: Way): void {
    const isStateless = headers["MCP-Protocol-Version"] === "2026-07-28";
    const own = session === null || isStateless ? {} : { "Mcp-Session-Id": session };
    const sent = request({
      agent,
      port,
      host: "127.0.0.1",
      path: "/mcp",
      method,
      headers: { ...headers, ...own, ...(body === null ? {} : { "Content-Length": Buffer.byteLength(body) }) },
    });
    const exchange: Exchange = { asks: way.asks, request: sent, response: null, isHeld: false, isLeft: false };
    exchanges.add(exchange);
    sent.on("error", (error) => over(exchange, false, error.message));
    sent.on("response", (response) => {
      exchange.response = response;
      stage.hear(() => receive(exchange, response, way));
    });
    sent.end(body ?? undefined);
  }

  function receive(exchange: Exchange, response: IncomingMessage, way: Way): void {
    const { headers, statusCode: status = 0 } = response;
    const isEvents = headers["content-type"]?.startsWith("text/event-stream") === true;
    const given = headers["mcp-session-id"];
    let text = "";
    let lastId: string | null = null;
    const name = `${way.kind} ${exchange.asks.map((ask) => ask.number).join(",")}`;
    if (way.kind === "response" && typeof given === "string" && exchange.asks[0]?.question.method === "initialize")
      session = given;
    const take = readEvents(({ id, data }) => {
      if (id !== null) lastId = id;
      stage.note(`client ${number} hears on ${name}: ${id === null ? "" : `[${id}] `}${data ?? ""}`);
      if (data !== null && data !== "") stage.ledger.clientHears(number, data, way);
    });
    response.setEncoding("utf8");
    response.on("data", (chunk: string) =>
      stage.hear(() => {
        stage.ledger.clientReceives(number, (/<!?\d*$/.exec(text)?.[0] ?? "") + chunk);
        text += chunk;
        if (isEvents) take(chunk);
      }),
    );
    response.on("end", () =>
      stage.hear(() => {
        stage.note(`client ${number} hears the end of ${name}: status ${status}${isEvents ? "" : ` ${text}`}`);
        if (!isEvents && text !== "" && status < 300) stage.ledger.clientHears(number, text, way);
        else if (!isEvents && status >= 300) refuse(exchange, text, way, status);
        over(exchange, true, `status ${status}`, lastId);
      }),
    );
    response.on("close", () => over(exchange, false, "the response broke off"));
    response.on("error", () => {});
  }

  /** A status that is not a success ends all that was asked, whatever the body says. */
  function refuse(exchange: Exchange, text: string, way: Way, status: number): void {
    if (text.startsWith("{") || text.startsWith("[")) {
      const { id } = JSON.parse(text) as { id?: unknown };
      if (id !== undefined && id !== null) stage.ledger.clientHears(number, text, way);
    }
    for (const ask of exchange.asks) {
      if (isOver(ask)) continue;
      if (ask.mustPass && !ask.isSpoilt) throw new Complaint(`refused what may pass with status ${status}: ${text}`);
      ask.end = `status ${status}`;
    }
  }

  function over(exchange: Exchange, isWhole: boolean, why: string, lastId: string | null = null): void {
    if (!exchanges.delete(exchange) || exchange.isLeft) return;
    stage.hear(() => {
      for (const ask of exchange.asks) {
        if (isOver(ask)) continue;
        if (lastId !== null && !ask.isAlone) ask.resumeAfter = lastId;
        else if (ask.isCancelled) ask.end = why;
        else if (!isWhole && isExpectedToBreak()) ask.end = why;
        else throw new Complaint(`request ${ask.number} ended without an answer: ${why}`);
      }
      if (!isWhole && !isExpectedToBreak() && exchange.response?.statusCode !== 200)
        throw new Complaint(`a request broke off: ${why}`);
    });
  }

  return {
    prepare() {
      session = null;
      return true;
    },
    isReady: true,
    send({ text, asks, mirrored }: Outgoing) {
      stage.note(`client ${number} posts ${text}`);
      const headers: Record<string, string> = {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": mirrored === null ? revision : "2026-07-28",
      };
      if (asks[0]?.question.method === "initialize") delete headers["MCP-Protocol-Version"];
      if (mirrored !== null) headers["Mcp-Method"] = mirrored.method;
      if (mirrored?.name != null) headers["Mcp-Name"] = mirrored.name;
      open("POST", headers, text, { kind: "response", asks });
    },
    listen(lastEventId) {
      stage.note(`client ${number} ${lastEventId === null ? "listens" : `resumes after ${lastEventId}`}`);
      const headers: Record<string, string> = { Accept: "text/event-stream", "MCP-Protocol-Version": revision };
      if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
      open("GET", headers, null, { kind: lastEventId === null ? "standing" : "resumed", asks: [] });
      return true;
    },
    leave(ask) {
      const exchange = [...exchanges].find(({ asks }) => asks.includes(ask));
      if (exchange === undefined) return false;
      stage.note(`client ${number} leaves request ${ask.number}`);
      exchange.isLeft = true;
      for (const each of exchange.asks) each.isLeft = true;
      exchange.request.destroy();
      exchanges.delete(exchange);
      return true;
    },
    hold(nth) {
      const open = [...exchanges].filter(({ response }) => response !== null);
      if (open.length === 0) return false;
      const exchange = open[nth % open.length];
      stage.note(`client ${number} stops reading ${exchange.asks.map((ask) => ask.number).join(",") || "a stream"}`);
      exchange.isHeld = true;
      exchange.response?.pause();
      return true;
    },
    read() {
      for (const exchange of exchanges) {
        if (!exchange.isHeld) continue;
        exchange.isHeld = false;
        exchange.response?.resume();
      }
    },
    remove() {
      if (session === null) return false;
      stage.note(`client ${number} ends its session`);
      open("DELETE", { "MCP-Protocol-Version": revision }, null, { kind: "standing", asks: [] });
      return true;
    },
    isAlive: true,
    hears: (ask) => [...exchanges].some(({ asks, isHeld }) => asks.includes(ask) && !isHeld),
    close() {
      for (const exchange of exchanges) {
        exchange.isLeft = true;
        exchange.request.destroy();
      }
      agent.destroy();
    },
  };
}
