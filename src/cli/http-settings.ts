import { readFileSync } from "node:fs";
import { ProxyError } from "../errors.ts";
import { readTokenFile } from "../proxy/gateway.ts";
import type { ListenSettings } from "../proxy/proxy.ts";
import type { Config } from "./config.ts";
import type { Parsed } from "./options.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** Where clients are to come in, as the options say; undefined for our own stdin and stdout. */
export function readListen(
  parsed: Parsed,
  { scopes = [], identityHeader = null }: Partial<Pick<Config, "scopes" | "identityHeader">>,
): ListenSettings | undefined {
  const text = value(parsed, "listen");
  if (text === undefined) return undefined;
  const { host, port } = readPlace(text, "listen");
  return {
    host,
    port,
    ...readTls(parsed),
    hosts: parsed.values.get("allow-host") ?? [],
    origins: parsed.values.get("allow-origin") ?? [],
    ...readAuth(parsed, scopes),
    ...(identityHeader === null ? {} : { identityHeader }),
    insecureBind: parsed.values.has("insecure-bind"),
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

function readTls(parsed: Parsed): Pick<ListenSettings, "tls"> {
  const cert = value(parsed, "tls-cert");
  const key = value(parsed, "tls-key");
  if (cert === undefined && key === undefined) return {};
  if (cert === undefined || key === undefined) {
    throw usage("A certificate needs its key, and a key its certificate", "Give both --tls-cert and --tls-key");
  }
  return { tls: { cert: readPem(cert, "tls-cert"), key: readPem(key, "tls-key") } };
}

function readPem(file: string, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const remedy = `Give --${name} a PEM file that you may read`;
    throw new ProxyError("FILE_NOT_READABLE", `Cannot read ${showWord(file)}`, remedy, { cause });
  }
}

function readAuth(parsed: Parsed, scopes: readonly string[]): Pick<ListenSettings, "auth"> {
  const file = value(parsed, "auth-tokens");
  const jwks = value(parsed, "auth-jwks");
  if (file !== undefined && jwks !== undefined) {
    throw usage("Tokens come from a file or from an issuer, not from both", "Give --auth-tokens or --auth-jwks");
  }
  if (file !== undefined) return { auth: { tokens: readTokenFile(file) } };
  if (jwks === undefined) return {};
  const issuer = value(parsed, "auth-issuer");
  const audience = value(parsed, "auth-audience");
  if (issuer === undefined || audience === undefined) {
    throw usage(
      "Keys alone do not say whose tokens to take",
      "Give --auth-issuer and --auth-audience with --auth-jwks",
    );
  }
  return { auth: { jwks, issuer, audience, ...(scopes.length === 0 ? {} : { scopes }) } };
}
