import { readFileSync } from "node:fs";
import { ProxyError } from "../errors.ts";
import { createGate, readTokenFile, type ListenOptions } from "../proxy/gateway.ts";
import type { Parsed } from "./options.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** Where clients are to come in, as the options say; null for our own stdin and stdout. */
export function readListen(parsed: Parsed): ListenOptions | null {
  const text = value(parsed, "listen");
  if (text === undefined) return null;
  const { host, port } = readPlace(text, "listen");
  return {
    host,
    port,
    tls: readTls(parsed),
    hosts: parsed.values.get("allow-host") ?? [],
    origins: parsed.values.get("allow-origin") ?? [],
    ...readGate(parsed),
    isInsecure: parsed.values.has("insecure-bind"),
  };
}

/** A port, or a host and a port. */
function readPlace(text: string, name: string): { host: string; port: number } {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]/]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2] ?? -1);
  if (match === null || port < 0 || port > 65_535) {
    throw usage(`Not a port: --${name} ${showWord(text)}`, `Write a port such as --${name} 8808, or host:port`);
  }
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}

function readTls(parsed: Parsed): ListenOptions["tls"] {
  const cert = value(parsed, "tls-cert");
  const key = value(parsed, "tls-key");
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) {
    throw usage("A certificate needs its key, and a key its certificate", "Give both --tls-cert and --tls-key");
  }
  return { cert: readPem(cert, "tls-cert"), key: readPem(key, "tls-key") };
}

function readPem(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const remedy = `Give --${name} a PEM file that you may read`;
    throw new ProxyError("FILE_NOT_READABLE", `Cannot read ${showWord(file)}`, remedy, { cause });
  }
}

function readGate(parsed: Parsed): Pick<ListenOptions, "gate" | "issuers"> {
  const file = value(parsed, "auth-tokens");
  const jwks = value(parsed, "auth-jwks");
  if (file !== undefined && jwks !== undefined) {
    throw usage("Tokens come from a file or from an issuer, not from both", "Give --auth-tokens or --auth-jwks");
  }
  if (file !== undefined) return { gate: createGate({ tokens: readTokenFile(file) }), issuers: [] };
  if (jwks === undefined) return { gate: null, issuers: [] };
  const issuer = value(parsed, "auth-issuer");
  const audience = value(parsed, "auth-audience");
  if (issuer === undefined || audience === undefined) {
    throw usage(
      "Keys alone do not say whose tokens to take",
      "Give --auth-issuer and --auth-audience with --auth-jwks",
    );
  }
  return { gate: createGate({ jwks, issuer, audience }), issuers: [issuer] };
}

/** The lines of --header, with variables filled in. */
export function readHeaders(parsed: Parsed, env: NodeJS.ProcessEnv): string {
  return (parsed.values.get("header") ?? []).map((text) => readHeader(text, env)).join("");
}

function readHeader(text: string, env: NodeJS.ProcessEnv): string {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0)).trim();
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    // What was meant as a secret may be in it: only the name is repeated.
    throw usage(`Not a header: --header ${showWord(name)}`, "Write --header 'Name: value'");
  }
  if (OURS.has(name.toLowerCase())) throw usage(`Header ${name} is not for you to set`, "Leave it out");
  const value = text.slice(colon + 1).trim();
  const filled = value.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, bare?: string) => {
    const variable = braced ?? bare ?? "";
    const found = env[variable];
    if (found === undefined)
      throw usage(`Variable ${variable} is not set`, `Set it, or take it out of --header ${name}`);
    return found;
  });
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(filled)) {
    throw usage(`The value of header ${name} cannot be sent`, "Take out line breaks and other control characters");
  }
  return `${name}: ${filled}\r\n`;
}

/** What the transport says itself. */
const OURS = new Set([
  "host",
  "connection",
  "content-length",
  "content-type",
  "transfer-encoding",
  "accept-encoding",
  "mcp-session-id",
]);
