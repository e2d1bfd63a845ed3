import { readFileSync } from "node:fs";
import { connect as connectPlain, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { ConnectionError, ProxyError } from "../../errors.ts";
import type { Address } from "./address.ts";
import { openTunnel, proxyFor } from "./tunnel.ts";

/** How connections are made. */
export interface ConnectOptions {
  readonly timeoutMs: number;
  /** Certificates to trust beside the usual ones: the text of a PEM file. */
  readonly ca: string | null;
  readonly env: NodeJS.ProcessEnv;
}

/** Opens a connection to a server, through a proxy where the environment names one. Rejects with a ConnectionError. */
export async function openConnection(address: Address, options: ConnectOptions): Promise<Socket> {
  const { timeoutMs, env } = options;
  const proxy = proxyFor(address, env);
  const until = Date.now() + timeoutMs;
  const socket =
    proxy === null
      ? await dial(address.host, address.port, timeoutMs)
      : await openTunnel(proxy, address, timeoutMs, dial);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return address.isSecure ? secure(socket, address, options.ca, until - Date.now()) : socket;
}

const KEEP_ALIVE_MS = 30_000;

/** A TCP connection within a time. */
function dial(host: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectPlain({ host, port, autoSelectFamily: true });
    settle(socket, "connect", timeoutMs, () => resolve(socket), reject);
  });
}

/** Puts TLS on a connection. The module is loaded when the first server asks for it. */
async function secure(socket: Socket, address: Address, ca: string | null, timeoutMs: number): Promise<Socket> {
  const tls = await import("node:tls");
  const isName = !/^[\d.]+$|:/.test(address.host);
  const options: ConnectionOptions = {
    socket,
    ALPNProtocols: ["http/1.1"],
    ...(isName ? { servername: address.host } : {}),
  };
  if (ca !== null) options.ca = [...tls.rootCertificates, ...extraCertificates(), ca];
  return new Promise((resolve, reject) => {
    const secured = tls.connect(options);
    settle(secured, "secureConnect", Math.max(1, timeoutMs), () => resolve(secured), reject);
  });
}

/** Waits for a socket to be ready, to fail, or to take too long. */
function settle(
  socket: Socket,
  ready: string,
  timeoutMs: number,
  resolve: () => void,
  reject: (error: Error) => void,
): void {
  const timer = setTimeout(() => {
    socket.destroy();
    reject(new ConnectionError("TIMEOUT", `Connection timeout after ${timeoutMs}ms`, "no connection in time"));
  }, timeoutMs);
  const onError = (error: NodeJS.ErrnoException): void => {
    clearTimeout(timer);
    const isTls = ready === "secureConnect";
    const code = isTls ? "INVALID_RESPONSE" : "REFUSED";
    const text = isTls ? `Invalid response: ${error.code ?? "no TLS"}` : describe(error);
    reject(new ConnectionError(code, text, error.message));
  };
  socket.once("error", onError);
  socket.once(ready, () => {
    clearTimeout(timer);
    socket.off("error", onError);
    resolve();
  });
}

function describe({ code }: NodeJS.ErrnoException): string {
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "Connection refused: no such host";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return "Connection refused: host unreachable";
  return "Connection refused";
}

// Node adds these by itself only where no certificates are given.
function extraCertificates(): string[] {
  const file = process.env["NODE_EXTRA_CA_CERTS"];
  if (file === undefined || file === "") return [];
  try {
    return [readFileSync(file, "utf8")];
  } catch {
    return [];
  }
}

/** Reads the file of --ca. */
export function readCa(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new ProxyError("FILE_NOT_READABLE", `Cannot read ${file}`, "Give --ca a PEM file with certificates", {
      cause,
    });
  }
}
