import { isUtf8 } from "node:buffer";
import type { Visit } from "../link/http/door.ts";
import { replyError } from "../link/http/reply.ts";
import type { Address } from "../link/upstream/address.ts";
import { headersBack, kindOf } from "../link/upstream/head.ts";
import type { Pool } from "../link/upstream/pool.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { createPieces } from "../wire/pieces.ts";
import type { Paths } from "./client-side.ts";
import { CLOSED } from "./answers.ts";

/** Lets clients log in to a server through the proxy: the OAuth metadata names the proxy instead of the server. */
export interface OauthPass {
  /** Returns a server's header as clients should see it. */
  rewrite(visit: Visit, name: string, value: string): string | null;
  /** Answers a request for metadata. False if the request is for something else. */
  visit(visit: Visit): boolean;
}

/** Options of the pass. */
export interface OauthOptions {
  readonly paths: Paths;
  /** Whether this is the only server here. Then well-known documents without a path in their URL are this server's. */
  readonly isOnly: boolean;
  readonly pool: Pool;
  readonly address: Address;
  /** The proxy's scheme and host, as this client sees them. */
  readonly originFor: (visit: Visit) => string;
}

const RESOURCE = "/.well-known/oauth-protected-resource";
const AUTHORITY = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
/** A larger document is not passed on. */
const MAX_METADATA_BYTES = 262_144;
/**
 * A server may keep its metadata at any URL and names it when it refuses a request. At most this many of these URLs are
 * remembered.
 */
const MAX_PLACES = 20;
const MAX_PLACE_CHARACTERS = 1024;

/** A metadata document that clients may request. */
interface Document {
  /** Path and query on the server. */
  readonly target: string;
  /** The path of our MCP endpoint for the client. */
  readonly ours: string;
  /**
   * "authority": authorization server metadata. "resource": protected resource metadata (RFC 9728) at the well-known
   * path. "named": the same at a URL that the server named.
   */
  readonly kind: "authority" | "resource" | "named";
}

/**
 * Makes a pass for one server. These requests are not judged, so only public documents can be reached: the well-known
 * ones at their exact paths, and those that the server named, which must also say that they are about this server.
 * Otherwise a client might make a careless server name any path, with a header that the server repeats.
 */
export function createOauthPass({ paths, isOnly, pool, address, originFor }: OauthOptions): OauthPass {
  const [serverPath] = address.path.split("?");
  const ourPaths = [paths.mcp, paths.sse];
  const known = wellKnown(serverPath, ourPaths, isOnly);
  const places = new Set<string>(); // oldest first

  function find({ path, query }: Visit): Document | null {
    const document = known.get(path);
    if (document !== undefined) return { ...document, target: document.target + query };
    const target = path + query;
    return places.has(target) ? { target, ours: paths.mcp, kind: "named" } : null;
  }

  /**
   * The URL at which clients find the metadata that the server has at this URL. URLs of other origins stay unchanged.
   */
  function metadataUrl(visit: Visit, text: string): string {
    if (!URL.canParse(text)) return text;
    const { origin, pathname, search } = new URL(text);
    if (origin !== address.origin) return text;
    const target = pathname + search;
    const isUsual = pathname === RESOURCE + (serverPath === "/" ? "" : serverPath);
    if (!isUsual && !known.has(pathname)) {
      if (PLAIN_PATH.test(pathname) && target.length <= MAX_PLACE_CHARACTERS)
        return originFor(visit) + remember(target);
    } else if (!isUsual) return originFor(visit) + target;
    return `${originFor(visit)}${RESOURCE}${ourPaths.includes(visit.path) ? visit.path : paths.mcp}`;
  }

  function remember(target: string): string {
    places.delete(target);
    places.add(target);
    if (places.size > MAX_PLACES) for (const oldest of [...places].slice(0, 1)) places.delete(oldest);
    return target;
  }

  function rewrite(visit: Visit, name: string, value: string): string {
    if (name !== "www-authenticate") return value;
    return value.replaceAll(
      METADATA_PARAMETER,
      (_, quoted: string | undefined, bare: string) => `resource_metadata="${metadataUrl(visit, quoted ?? bare)}"`,
    );
  }

  function pass(visit: Visit, document: Document): void {
    const { response, head: asked } = visit;
    let answered: ResponseHead | null = null;
    const pieces = createPieces();
    let size = 0;
    // A HEAD request also fetches the document: only its content shows that it is metadata.
    const call = pool.send(
      { method: "GET", path: document.target, headers: `${asked.onward}Accept-Encoding: identity\r\n`, body: null },
      {
        head(head) {
          answered = head;
        },
        body(bytes) {
          size += bytes.length;
          if (size <= MAX_METADATA_BYTES) return pieces.push(bytes);
          call.abort();
          replyError(response, 502, CLOSED, null);
        },
        done() {
          if (answered === null || response.headersSent) return;
          const { status } = answered;
          const body = status === 200 && kindOf(answered) === "json" ? read(visit, document, pieces.join()) : null;
          if (body === null) return replyError(response, status >= 400 ? status : 404, NO_METADATA, null);
          const back = headersBack(answered, (name, value) => (KEPT_HEADERS.has(name) ? value : null));
          response.writeHead(200, [...back, "Content-Type", "application/json", "Content-Length", String(body.length)]);
          response.end(body);
        },
        failed: () => replyError(response, 502, CLOSED, null),
      },
    );
    response.on("close", () => call.abort());
  }

  /** The document with the server's address replaced by the one that clients use; null if it is not metadata. */
  function read(visit: Visit, { kind, ours }: Document, body: Buffer): Buffer | null {
    const metadata = parseObject(body);
    if (metadata === null || "jsonrpc" in metadata) return null;
    const { issuer, resource } = metadata;
    // RFC 8414, 2 and RFC 9728, 2: these members are required.
    if (kind === "authority") return typeof issuer === "string" ? body : null;
    if (typeof resource !== "string") return null;
    const path = pathHere(resource);
    if (path === null) return kind === "named" ? null : body;
    const named = path === serverPath ? ours : path === "/" ? "" : path;
    const query = new URL(resource).search;
    return Buffer.from(JSON.stringify({ ...metadata, resource: `${originFor(visit)}${named}${query}` }));
  }

  /** The path in a URL that names this server or a path above it; null if it names another server. */
  function pathHere(text: string): string | null {
    if (!URL.canParse(text)) return null;
    const { origin, pathname } = new URL(text);
    const parent = pathname.replace(/\/$/, "");
    const isHere = pathname === serverPath || parent === serverPath || serverPath.startsWith(`${parent}/`);
    return origin === address.origin && isHere ? pathname : null;
  }

  return {
    rewrite,
    visit(visit) {
      if (visit.method !== "GET" && visit.method !== "HEAD") return false;
      const document = find(visit);
      if (document === null) return false;
      visit.request.resume();
      pass(visit, document);
      return true;
    },
  };
}

/** The well-known documents, by their exact paths on the proxy. */
function wellKnown(
  serverPath: string,
  [mcp, ...others]: readonly string[],
  isOnly: boolean,
): ReadonlyMap<string, Document> {
  const known = new Map<string, Document>();
  for (const prefix of [RESOURCE, ...AUTHORITY]) {
    const kind = prefix === RESOURCE ? "resource" : "authority";
    if (isOnly) known.set(prefix, { target: prefix, ours: mcp, kind });
    const target = prefix + (serverPath === "/" ? "" : serverPath);
    for (const ours of [mcp, ...others]) known.set(prefix + ours, { target, ours, kind });
  }
  return known;
}

function parseObject(body: Buffer): Record<string, unknown> | null {
  if (!isUtf8(body)) return null;
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** The parameter of a challenge that says where the metadata is: quoted, as required, or unquoted. */
const METADATA_PARAMETER = /\bresource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))/gi;

/**
 * A path that every server interprets in the same way. It has no dot segments, and nothing that becomes one when it is
 * decoded (`%2e`, `%252e`), when a backslash is taken for a slash, or when the parameters of a segment are cut off
 * (`..;`).
 */
const PLAIN_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,=:@-]+)+\/?$/;

/** Headers for caching. The client needs no other header of the server's response. */
const KEPT_HEADERS = new Set(["cache-control", "expires", "date", "vary"]);

const NO_METADATA = { code: -32000, message: "Not found" };
