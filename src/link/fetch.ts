import { request as plainRequest, type RequestOptions } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { rootCertificates } from "node:tls";
import type { ProxyError } from "../errors.ts";
import { createPieces } from "../wire/pieces.ts";
import { guardedLookup } from "./guarded-lookup.ts";
import { isLoopback } from "./loopback.ts";
import { type Nearness, nearness } from "./reach.ts";
import { loginFailed, shown } from "./trouble.ts";

/**
 * Sends a request to a server whose URL came from somebody else, with limits on its address, its time and the size of
 * its response.
 */
export type Fetch = (url: string, options: FetchOptions) => Promise<Response>;

/** A request. */
export interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null | undefined;
}

/** How a server may be reached. */
export interface Reach {
  /** Hosts nearer than this are refused: a remote server must not direct us to machines in our own network. */
  readonly nearest: Nearness;
  /** Additional certificates to trust: the text of a PEM file. */
  readonly ca: string | null;
  /** Another way to connect, for example through a proxy; it also handles TLS. Null if there is none. */
  readonly dial: ((url: URL) => Promise<Socket> | null) | null;
  /** The timeout for one request, from the first byte to the last. */
  readonly timeoutMs?: number;
}

/** The size limit for a response body. */
export const MAX_BODY_BYTES = 262_144;
const MAX_REQUEST_MS = 20_000;
const MAX_REDIRECTS = 3;

/** Makes a fetch for URLs that are not trusted. */
export function createFetch(reach: Reach): Fetch {
  return async function fetch(target, { method, headers, body = null }) {
    const signal = AbortSignal.timeout(reach.timeoutMs ?? MAX_REQUEST_MS);
    const payload = body === null ? null : body.toString();
    let url = new URL(target);
    for (let hops = 0; ; hops++) {
      const answer = await ask(reach, url, { method, headers, signal, payload });
      const next = answer.location === null || method !== "GET" || hops === MAX_REDIRECTS ? null : answer.location;
      // Only within the same origin, so that the request goes to the server that was checked.
      if (next === null || !URL.canParse(next, url.href) || new URL(next, url).origin !== url.origin) {
        return toResponse(answer);
      }
      url = new URL(next, url);
    }
  };
}

interface Answer {
  readonly status: number;
  readonly location: string | null;
  readonly body: Buffer;
}

interface Question {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly payload: string | null;
}

async function ask(reach: Reach, url: URL, { method, headers, signal, payload }: Question): Promise<Answer> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isAddress = isIP(host) !== 0;
  const refusal = isAddress || isLoopback(url.hostname) ? refuseNear(reach, isAddress ? host : "127.0.0.1") : null;
  if (refusal !== null) throw refusal;
  const socket = await (reach.dial?.(url) ?? null);
  const isSecure = url.protocol === "https:";
  const settings: RequestOptions = {
    method,
    signal,
    headers: {
      ...headers,
      host: url.host,
      "user-agent": "fairlead",
      "accept-encoding": "identity",
      connection: "close",
      ...(payload === null ? {} : { "content-length": String(Buffer.byteLength(payload)) }),
    },
    maxHeaderSize: 32_768,
    lookup: guardedLookup((address) => refuseNear(reach, address)),
    // An agent would open a connection of its own.
    ...(socket === null ? { agent: false } : { protocol: "http:", createConnection: () => socket }),
    ...(reach.ca === null ? {} : { ca: [...rootCertificates, reach.ca] }),
  };
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => reject(loginFailed(`${shown(url)} ${reason}`, "Try again later"));
    const request = (isSecure && socket === null ? secureRequest : plainRequest)(url, settings, (response) => {
      const pieces = createPieces();
      response.on("data", (chunk: Buffer) => {
        pieces.push(chunk);
        if (pieces.size > MAX_BODY_BYTES) request.destroy(new Error("says too much"));
      });
      response.on("end", () => {
        const { statusCode = 0, headers } = response;
        const isRedirect = statusCode >= 300 && statusCode < 400;
        const location = (isRedirect ? headers.location : null) ?? null;
        resolve({ status: statusCode, location, body: pieces.join() });
      });
      response.on("error", onError);
    });
    const onError = (error: NodeJS.ErrnoException): void => {
      if (error.name === "ProxyError") reject(error);
      else if (signal.aborted) fail("does not answer");
      else fail(error.code === undefined ? error.message : `cannot be reached (${error.code})`);
    };
    request.on("error", onError);
    request.end(payload ?? undefined);
  });
}

/** Why an address must not be contacted; null if it may be. */
function refuseNear({ nearest }: Reach, address: string): ProxyError | null {
  if (nearness(address) <= nearest) return null;
  const where = nearness(address) === 2 ? "on this machine" : "in a private network";
  return loginFailed(`the server sent us to an address ${where}`, "Trust it only if you know why it does that");
}

function toResponse({ status, body }: Answer): Response {
  if (status < 200 || status > 599) return new Response(null, { status: 502 });
  const hasNoBody = status === 204 || status === 205 || status === 304;
  const text = body.toString("utf8");
  // Metadata is often a static file whose Content-Type is wrong.
  const type = isJson(text) ? "application/json" : "text/plain";
  return new Response(hasNoBody ? null : text, { status, headers: { "content-type": type } });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
