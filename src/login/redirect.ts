import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { loginFailed } from "../link/trouble.ts";

/** The local page that the browser is redirected to after a login. It listens on this machine only. */
export interface Redirect {
  readonly uri: string;
  /** The parameters of the redirect that has this state. */
  answer(state: string, timeoutMs: number): Promise<URLSearchParams>;
  close(): void;
}

/** Starts to listen, at the address of the last login if it is free. */
export async function openRedirect(before: string | null): Promise<Redirect> {
  const usual = before === null ? 0 : Number(new URL(before).port);
  const server = createServer({ maxHeaderSize: 32_768, headersTimeout: 10_000, requestTimeout: 10_000 });
  server.maxConnections = 50;
  try {
    await listen(server, usual);
  } catch {
    await listen(server, 0).catch(() => {
      throw loginFailed("no port is free on this machine", "Try again later");
    });
  }
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  return {
    uri: `http://${host}${PATH}`,
    answer: (state, timeoutMs) =>
      new Promise((resolve, reject) => {
        const seconds = Math.round(timeoutMs / 1000);
        const timer = setTimeout(
          () => reject(loginFailed(`no login within ${seconds} s`, "Try again, and log in in the browser")),
          timeoutMs,
        );
        server.on("request", (request, response) => {
          const parameters = readRequest(request, host, state);
          if (parameters === null)
            return show(response, 400, "This page is part of a login, and this is not that one.");
          const isRefused = parameters.has("error");
          show(response, 200, isRefused ? "The login was refused." : "That was the login.");
          clearTimeout(timer);
          // Send the page first, because the caller closes the server next.
          response.once("close", () => resolve(parameters));
        });
        server.once("close", () => clearTimeout(timer));
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const PATH = "/callback";

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The parameters of the expected redirect, else null. Any web page can make the browser send a request here. */
function readRequest(
  { method, url = "", headers }: IncomingMessage,
  host: string,
  state: string,
): URLSearchParams | null {
  // Another host name means DNS rebinding: a page elsewhere made its own name point to this machine.
  if (method !== "GET" || headers.host !== host || !url.startsWith(`${PATH}?`)) return null;
  const parameters = new URL(url, `http://${host}`).searchParams;
  const states = parameters.getAll("state");
  return states.length === 1 && isSame(states[0], state) ? parameters : null;
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(one, other);
}

/** Shows a page. It contains nothing from the request. */
function show(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  const ending = status === 200 ? " You may close this window." : "";
  response.end(`<!doctype html><html lang="en"><title>Fairlead</title><p>${text}${ending}</p></html>\n`);
}
