import { readFileSync } from "node:fs";
import { connect as connectPlain, type LookupFunction, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { ConnectionError, ProxyError } from "../../errors.ts";
import type { Address } from "./address.ts";
import { openTunnel, proxyFor } from "./tunnel.ts";

/** Options of a connection. */
export interface ConnectOptions {
  readonly timeoutMs: number;
  /** Additional certificates to trust: the text of a PEM file. */
  readonly ca: string | null;
  readonly env: NodeJS.ProcessEnv;
  /** Looks up the addresses of a server that is reached directly. Connections use only its results. */
  readonly lookup?: LookupFunction;
}

/** Opens a connection to a server, through a proxy if the environment names one. Rejects with a ConnectionError. */
export async function openConnection(address: Address, options: ConnectOptions): Promise<Socket> {
  const { timeoutMs, env } = options;
  const proxy = proxyFor(address, env);
  const until = Date.now() + timeoutMs;
  const reach = async (place: Address): Promise<Socket> => {
    const socket = await dial(place, timeoutMs, place === address ? options.lookup : undefined);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  };
  const wrap = (socket: Socket, place: Address): Promise<Socket> =>
    place.isSecure ? secure(socket, place, options.ca, { until, timeoutMs }) : Promise.resolve(socket);
  if (proxy === null) return wrap(await reach(address), address);
  const outer = await wrap(await reach(proxy), proxy);
  return wrap(await openTunnel(outer, proxy, address, timeoutMs), address);
}

const KEEP_ALIVE_MS = 30_000;

/** Opens a TCP connection, with a timeout. */
function dial({ host, port }: Address, timeoutMs: number, lookup?: LookupFunction): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectPlain({ host, port, autoSelectFamily: true, ...(lookup === undefined ? {} : { lookup }) });
    socket.on("error", () => {}); // it may break before its user has attached a listener
    settle(socket, "connect", { until: Date.now() + timeoutMs, timeoutMs }, () => resolve(socket), reject);
  });
}

/** A deadline, and the timeout that it was computed from. */
interface Deadline {
  readonly until: number;
  readonly timeoutMs: number;
}

/** Starts TLS on a connection. The module is loaded when it is first needed. */
async function secure(socket: Socket, address: Address, ca: string | null, deadline: Deadline): Promise<Socket> {
  const tls = await import("node:tls");
  const isName = !/^[\d.]+$|:/.test(address.host);
  const options: ConnectionOptions = {
    socket,
    // The host that the certificate must match. Without it, an IP address would be checked as "localhost".
    host: address.host,
    ALPNProtocols: ["http/1.1"],
    ...(isName ? { servername: address.host } : {}),
  };
  if (ca !== null) options.ca = [...tls.rootCertificates, ...extraCertificates(), ca];
  return new Promise((resolve, reject) => {
    const secured = tls.connect(options);
    secured.on("error", () => {});
    settle(secured, "secureConnect", deadline, () => resolve(secured), reject);
  });
}

/** Waits until a socket is ready, fails or times out. */
function settle(
  socket: Socket,
  ready: string,
  { until, timeoutMs }: Deadline,
  resolve: () => void,
  reject: (error: Error) => void,
): void {
  const late = (): void => {
    socket.destroy();
    reject(new ConnectionError("TIMEOUT", `Connection timeout after ${timeoutMs}ms`, "no connection in time"));
  };
  const timer = setTimeout(late, Math.max(1, until - Date.now()));
  const onError = (error: NodeJS.ErrnoException): void => {
    clearTimeout(timer);
    // A shortage on this machine says nothing about the server.
    if (OWN_WANTS.has(error.code ?? "")) {
      return reject(
        new ConnectionError(
          "NO_ROOM",
          "Connection failed: this machine has no free sockets, ports or memory",
          error.message,
        ),
      );
    }
    const isTls = ready === "secureConnect";
    const code = isTls ? "INVALID_RESPONSE" : "REFUSED";
    const text = isTls ? `Invalid response: ${error.code ?? "no TLS"}` : describe(error);
    reject(new ConnectionError(code, text, error.message));
  };
  // Node does not report an error if a server closes the connection during a handshake.
  const onClose = (): void => onError(Object.assign(new Error("it closed the connection"), { code: "ECONNRESET" }));
  socket.once("error", onError);
  socket.once("close", onClose);
  socket.once(ready, () => {
    clearTimeout(timer);
    socket.off("error", onError);
    socket.off("close", onClose);
    resolve();
  });
}

const OWN_WANTS = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

function describe({ code }: NodeJS.ErrnoException): string {
  if (code === "ENOTFOUND") return "No such host";
  if (code === "EAI_AGAIN") return "No such host: the name server did not answer";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return "Host unreachable";
  return "Connection refused";
}

// Node adds these itself only if no certificates are given.
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
