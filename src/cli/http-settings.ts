import { readFileSync } from "node:fs";
import { ProxyError } from "../errors.ts";
import type { Settings } from "../config/merge-settings.ts";
import { listenOf } from "../proxy/listen-options.ts";
import type { ListenSettings } from "../proxy/proxy-options.ts";
import type { Parsed } from "./command-line.ts";
import { value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/**
 * The settings for incoming HTTP, including options that the policy file does not have; null if the client is on stdin
 * and stdout.
 */
export function readListen(parsed: Parsed, settings: Settings): ListenSettings | null {
  if (settings.listen === null) return null;
  const tls = readTls(parsed);
  const listen = listenOf(settings);
  if (listen === null) return null;
  return {
    ...listen,
    ...tls,
    hosts: parsed.values.get("allow-host") ?? [],
    origins: parsed.values.get("allow-origin") ?? [],
    insecureBind: parsed.values.has("insecure-bind"),
  };
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
