import { fetchTools, findServer } from "../bridge/find-server.ts";
import { ProxyError } from "../errors.ts";
import { parseAddress } from "../link/upstream/address.ts";
import { readCa } from "../link/upstream/connect.ts";
import { createPool } from "../link/upstream/pool.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { Era } from "../message/protocol.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { loginDirectory } from "./logins.ts";
import { createPermission } from "./permission.ts";

/** Options of `inspectRemote`. */
interface InspectRemoteOptions {
  readonly upstream: string;
  readonly headers: string;
  readonly ca: string | null;
  readonly connectMs: number;
  readonly timeoutMs: number;
  readonly version: string;
  /** Which list to fetch, if the server has one for each era. */
  readonly era: Era | "either";
}

/** Fetches the tools of a server at a URL, in a session of our own. */
export async function inspectRemote(options: InspectRemoteOptions): Promise<Catalogue> {
  const { headers, connectMs, timeoutMs, version } = options;
  const address = parseAddress(options.upstream);
  const ca = options.ca === null ? null : readCa(options.ca);
  const pool = createPool(address, { timeoutMs: connectMs, ca, env: process.env }, () => {});
  const permission = createPermission(address, loginDirectory(process.env));
  try {
    await permission.recall();
    const find = {
      pool,
      address,
      headers: () => headers + permission.line(),
      permit: (head: ResponseHead, shown: string) => permission.ask(head, shown),
      connectMs,
      listMs: timeoutMs,
      maxMessageBytes: DEFAULT_LIMITS.maxMessageBytes,
      version,
    };
    const found = await findServer(find);
    const { catalogues, needsLogin } = found;
    if (needsLogin) {
      const remedy = "It requires authentication: send a token with --header 'Authorization: Bearer …'";
      throw new ProxyError("TOOL_LIST_FAILED", "Failed to fetch tool list from upstream MCP", remedy);
    }
    if (options.era !== "either" && !catalogues[options.era].isComplete)
      return await fetchTools(find, found, options.era);
    return catalogues.stateful.isComplete ? catalogues.stateful : catalogues.stateless;
  } finally {
    // The last request may still be sent.
    setTimeout(() => pool.close(), GOODBYE_MS).unref();
  }
}

const GOODBYE_MS = 200;
