import type { Server } from "node:http";
import { ProxyError } from "../../errors.ts";

/** Makes a server listen. Rejects with a ProxyError if that fails. */
export function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const [message, remedy] = LISTEN_ERRORS[cause.code ?? ""] ?? ["Cannot listen", cause.code ?? "try another"];
      reject(new ProxyError("CANNOT_LISTEN", `${message}: ${host}:${port}`, remedy, { cause }));
    });
    server.listen(port, host, () => resolve());
  });
}

const LISTEN_ERRORS: Record<string, readonly [string, string]> = {
  EADDRINUSE: ["Port in use", "Stop what listens there, or give --listen another port"],
  EACCES: ["Not allowed to listen", "Ports below 1024 are for the system: give --listen another"],
  EADDRNOTAVAIL: ["Not an address of this machine", "Give --listen a host that is this machine, such as 127.0.0.1"],
  ENOTFOUND: ["Not an address of this machine", "Give --listen a host that is this machine, such as 127.0.0.1"],
};
