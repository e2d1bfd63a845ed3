import { OWN_HEADERS } from "../config/own-headers.ts";
import type { Parsed } from "./command-line.ts";
import { showWord, usage } from "./usage.ts";

/** The headers of `--header`, with environment variables filled in. */
export function readHeaders(parsed: Parsed, env: NodeJS.ProcessEnv): Map<string, string> {
  return new Map((parsed.values.get("header") ?? []).map((text) => readHeader(text, env)));
}

function readHeader(text: string, env: NodeJS.ProcessEnv): [string, string] {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0)).trim();
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    const remedy = colon < 0 ? "There is no colon in it: write --header 'Name: value'" : "Write --header 'Name: value'";
    throw usage(`Not a header: --header ${showHeader(text)}`, remedy);
  }
  if (OWN_HEADERS.has(name.toLowerCase())) throw usage(`Header ${name}cannot be set`, "Leave it out");
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
  return [name, filled];
}

/** The part of an invalid header that cannot be a secret: a header name, or its first characters. */
function showHeader(text: string): string {
  const word = /^[^\s:=]*/.exec(text)?.[0] ?? "";
  const shown = word.length <= 40 && NAME.test(word) ? word : word.slice(0, SHOWN_CHARACTERS);
  return showWord(shown.length < text.length ? `${shown}…` : shown);
}

// Capitalised like a header name, or a well-known name.
const NAME = /^[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*$|^(?:authorization|cookie|accept|user-agent|x-[a-z-]+)$/;

/** How many characters of a word that may be a secret are shown. */
const SHOWN_CHARACTERS = 3;
