import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ground } from "../suite.ts";
import { ECHO } from "../variants.ts";

/**
 * The transports of client and server: HTTP on both sides, HTTP clients of a stdio server, a stdio client of an HTTP
 * server.
 */
export type Pair = "http" | "to-stdio" | "to-http";

/** The command line of a variant that listens on a port, or that uses its stdin if the client uses stdio. */
export type Compose = (port: number) => readonly string[];

/**
 * The command lines of each pair. `origin` is the port of the HTTP server; `nginx` is the path of that program, or
 * null.
 */
export function composeCommands(ground: Ground, origin: number, nginx: string | null) {
  const { root, folder, fairlead, other, parsing } = ground;
  const node = process.execPath;
  const program = (name: string): string => join(root, "bench", "programs", name);
  const server = [node, program(ECHO), ...(parsing ? ["--parse"] : [])];
  const url = `http://127.0.0.1:${origin}/mcp`;
  const bin = (name: string): string[] => [node, peerProgram(root, name)];
  const quiet = ["--log-level", "error"];
  const filter = ["--deny", "^file_"];
  const build = (command: string): Record<Pair, Compose> => ({
    http: (port) => [command, "--upstream", url, ...filter, "--listen", String(port), ...quiet],
    "to-stdio": (port) => [command, ...filter, "--listen", String(port), ...quiet, "--", ...server],
    "to-http": () => [command, "--upstream", url, ...filter, ...quiet],
  });
  const ours = build(fairlead);
  const others = build(other ?? fairlead);
  // It keeps login data in a folder. Use one of our own, not the user's.
  const remote = ["/usr/bin/env", `MCP_REMOTE_CONFIG_DIR=${folder}`, ...bin("mcp-remote"), url];
  const gateway = [...bin("supergateway"), "--logLevel", "none"];
  const streamable = ["--outputTransport", "streamableHttp", "--stateful"];
  // The young generation stays small: it grows once under load, independent of the number of sessions.
  const collecting = [node, "--expose-gc", "--max-semi-space-size=1", "--require", program("collect.cjs")];
  const commands: Record<Pair, Record<string, Compose>> = {
    http: {
      // A server of its own, because its start is measured and the server for all others is already running.
      direct: (port) => [node, program("bare-server.cjs"), String(port)],
      bare: (port) => [node, program("bare-proxy.cjs"), String(port), String(origin)],
      fairlead: ours.http,
      other: others.http,
      // The same two, for measuring retained memory: they collect their garbage on a signal.
      [`fairlead${COLLECTING}`]: (port) => [...collecting, ...ours.http(port)],
      [`other${COLLECTING}`]: (port) => [...collecting, ...others.http(port)],
      "mcp-proxy": (port) => [node, program("mcp-proxy-http.mjs"), String(port), url],
      ...(nginx === null ? {} : { nginx: (port) => [nginx, "-c", configureNginx(folder, port, origin)] }),
    },
    "to-stdio": {
      bare: (port) => [node, program("bare-http-to-stdio.cjs"), String(port), ...server],
      fairlead: ours["to-stdio"],
      other: others["to-stdio"],
      "mcp-proxy": (port) => [...bin("mcp-proxy"), "--host", "127.0.0.1", "--port", String(port), "--", ...server],
      supergateway: (port) => [...gateway, "--stdio", server.join(" "), ...streamable, "--port", String(port)],
    },
    "to-http": {
      bare: () => [node, program("bare-stdio-to-http.cjs"), url],
      fairlead: ours["to-http"],
      other: others["to-http"],
      "mcp-remote": () => [...remote, "--allow-http", "--transport", "http-only", "--silent"],
      supergateway: () => [...gateway, "--streamableHttp", url],
    },
  };
  return commands;
}

/** A suffix for the name of a variant that collects all its garbage on SIGUSR2. */
export const COLLECTING = ", collecting";

/** The third-party packages that are measured. */
export const PEERS = ["mcp-proxy", "supergateway", "mcp-remote"] as const;

/** Their names with the installed versions. */
export function describePeers(root: string): string {
  return PEERS.map((name) => `${name} ${readManifest(root, name).version}`).join(", ");
}

function peerProgram(root: string, name: string): string {
  return join(root, "bench", "peers", "node_modules", name, readManifest(root, name).bin[name]);
}

function readManifest(root: string, name: string): { version: string; bin: Record<string, string> } {
  const file = join(root, "bench", "peers", "node_modules", name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")) as ReturnType<typeof readManifest>;
}

/** Writes a configuration that makes nginx a reverse proxy with keep-alive connections and one worker process. */
function configureNginx(folder: string, port: number, origin: number): string {
  const home = join(folder, `nginx-${port}`);
  mkdirSync(home);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const file = join(home, "nginx.conf");
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${home}/pid;
error_log ${home}/log;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000;
  ${temporary.map((name) => `${name}_temp_path ${home}/${name};`).join("\n  ")}
  upstream origin {
    server 127.0.0.1:${origin};
    keepalive 64;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  );
  return file;
}
