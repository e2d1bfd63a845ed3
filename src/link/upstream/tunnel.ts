import type { Socket } from "node:net";
import { ConnectionError, ProxyError } from "../../errors.ts";
import { isLoopback } from "../loopback.ts";
import { type Address, parseAddress } from "./address.ts";

/** The proxy that the environment names for a server, or null. Servers on this machine never use one. */
export function proxyFor(address: Address, env: NodeJS.ProcessEnv): Address | null {
  if (isLoopback(address.host) || isExcepted(address, read(env, "NO_PROXY") ?? "")) return null;
  const names = [address.isSecure ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"];
  const name = names.find((each) => read(env, each) !== undefined);
  const text = name === undefined ? undefined : read(env, name);
  if (name === undefined || text === undefined) return null;
  try {
    return parseAddress(text.includes("://") ? text : `http://${text}`);
  } catch (cause) {
    const remedy = `Give the variable ${name} a URL that begins with http:// or https://, or take it away`;
    throw new ProxyError("BAD_UPSTREAM", `${name} does not name a usable proxy`, remedy, { cause });
  }
}

/** Opens a tunnel with CONNECT on a connection to a proxy. */
export function openTunnel(socket: Socket, proxy: Address, address: Address, timeoutMs: number): Promise<Socket> {
  const target = `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
  const credentials = proxy.credentials === null ? "" : `Proxy-Authorization: ${proxy.credentials}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credentials}\r\n`);
  return new Promise((resolve, reject) => {
    const fail = (detail: string): void => {
      clearTimeout(timer);
      socket.destroy();
      // The proxy's text may be private, so only its status is shown.
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(detail)?.[1];
      const why = status === undefined ? "" : `, status ${status}`;
      reject(new ConnectionError("REFUSED", `Connection refused by the proxy${why}`, detail));
    };
    const timer = setTimeout(() => fail("no answer in time"), timeoutMs);
    let head = "";
    const onData = (chunk: Buffer): void => {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) {
        if (head.length > MAX_HEAD) fail("the response head does not end");
        return;
      }
      socket.off("data", onData);
      socket.off("error", onError);
      socket.off("close", onClose);
      // The server must not send anything before we do.
      if (!/^HTTP\/1\.[01] 2\d\d/.test(head) || head.length > end + 4) return fail(head.slice(0, 40));
      clearTimeout(timer);
      resolve(socket);
    };
    const onError = (error: Error): void => fail(error.message);
    const onClose = (): void => fail("it closed the connection");
    socket.on("data", onData);
    socket.on("error", onError);
    socket.on("close", onClose);
  });
}

const MAX_HEAD = 16_384;

function read(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name.toLowerCase()] ?? env[name];
  return value === undefined || value === "" ? undefined : value;
}

/** Whether a list such as `example.com,.internal,10.0.0.1:8080,*` names a server. */
function isExcepted({ host, port }: Address, list: string): boolean {
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      const [, name, wanted] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      if (wanted !== undefined && Number(wanted) !== port) return false;
      const bare = name.replace(/^\*?\./, "");
      return host.toLowerCase() === bare || host.toLowerCase().endsWith(`.${bare}`);
    });
}
