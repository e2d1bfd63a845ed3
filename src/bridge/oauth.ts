import type { Visit } from "../link/http/door.ts";
import { replyError } from "../link/http/reply.ts";
import type { Address } from "../link/upstream/address.ts";
import { headersBack, kindOf } from "../link/upstream/head.ts";
import type { Pool } from "../link/upstream/pool.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { createPieces } from "../wire/pieces.ts";
import { CLOSED } from "./answers.ts";

/** Lets clients log in to a server through us: what says where to do that names us instead of the server. */
export interface OauthPass {
  /** A header of the server's as clients should see it. */
  rewrite(visit: Visit, name: string, value: string): string | null;
  /** Answers a request for metadata. False where it is for something else. */
  visit(visit: Visit): boolean;
}

/** What the pass needs. */
export interface OauthOptions {
  readonly pool: Pool;
  readonly address: Address;
  /** Where clients reach us: scheme and host, as this one sees it. */
  readonly originFor: (visit: Visit) => string;
}

const RESOURCE = "/.well-known/oauth-protected-resource";
const AUTHORITY = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
const MAX_METADATA_BYTES = 1_048_576;
/** Servers may keep their metadata where they like, and say so when they refuse. So many places are remembered. */
const MAX_PLACES = 20;

/** Makes a pass for one server. */
export function createOauthPass({ pool, address, originFor }: OauthOptions): OauthPass {
  const places = new Set<string>();

  /** A URL on the server's origin becomes the same on ours; others stay. */
  function ours(visit: Visit, text: string): string {
    if (!URL.canParse(text)) return text;
    const url = new URL(text);
    if (url.origin !== address.origin) return text;
    const path = url.pathname === barePath(address) ? "/mcp" : url.pathname;
    return `${originFor(visit)}${path === "/" ? "" : path}${url.search}`;
  }

  function rewrite(visit: Visit, name: string, value: string): string {
    if (name !== "www-authenticate") return value;
    return value.replace(/resource_metadata="([^"]*)"/i, (_, url: string) => {
      const moved = metadataUrl(visit, url);
      return `resource_metadata="${moved}"`;
    });
  }

  function metadataUrl(visit: Visit, text: string): string {
    if (!URL.canParse(text) || new URL(text).origin !== address.origin) return text;
    const { pathname, search } = new URL(text);
    if (!isMetadata(pathname) && places.size < MAX_PLACES) places.add(pathname);
    const suffix = pathname === `${RESOURCE}${barePath(address)}` ? `${RESOURCE}/mcp` : pathname;
    return `${originFor(visit)}${suffix}${search}`;
  }

  function isMetadata(path: string): boolean {
    return path.startsWith(RESOURCE) || AUTHORITY.some((known) => path.startsWith(known)) || places.has(path);
  }

  /** Where the server keeps what a client asks us for. */
  function pathAt(path: string): string {
    const known = [RESOURCE, ...AUTHORITY].find((prefix) => path === `${prefix}/mcp`);
    return known === undefined ? path : `${known}${barePath(address) === "/" ? "" : barePath(address)}`;
  }

  function pass(visit: Visit): void {
    const { response, head: asked, query, path, method } = visit;
    let answered: ResponseHead | null = null;
    const pieces = createPieces();
    let size = 0;
    const call = pool.send(
      { method, path: pathAt(path) + query, headers: `${asked.onward}Accept-Encoding: identity\r\n`, body: null },
      {
        head(head) {
          answered = head;
        },
        body(bytes) {
          size += bytes.length;
          if (size <= MAX_METADATA_BYTES) pieces.push(bytes);
          else call.abort();
          if (size > MAX_METADATA_BYTES) replyError(response, 502, CLOSED, null);
        },
        done() {
          if (answered === null || response.headersSent) return;
          const isResource = !AUTHORITY.some((known) => path.startsWith(known));
          const isJson = kindOf(answered) === "json" && answered.status < 300;
          const whole = pieces.join();
          const body = isResource && isJson ? rename(visit, whole) : whole;
          const back = headersBack(answered, (name, value) => rewrite(visit, name, value));
          response.writeHead(answered.status, [...back, "Content-Length", String(body.length)]);
          response.end(body);
        },
        failed: () => replyError(response, 502, CLOSED, null),
      },
    );
    response.on("close", () => call.abort());
  }

  /** The metadata of a resource, under the name clients know it by. */
  function rename(visit: Visit, body: Buffer): Buffer {
    try {
      const metadata = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
      if (typeof metadata["resource"] !== "string") return body;
      return Buffer.from(JSON.stringify({ ...metadata, resource: ours(visit, metadata["resource"]) }));
    } catch {
      return body;
    }
  }

  return {
    rewrite,
    visit(visit) {
      if (!isMetadata(visit.path) || (visit.method !== "GET" && visit.method !== "HEAD")) return false;
      visit.request.resume();
      pass(visit);
      return true;
    },
  };
}

function barePath({ path }: Address): string {
  const question = path.indexOf("?");
  return question < 0 ? path : path.slice(0, question);
}
