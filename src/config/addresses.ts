import { OWN_HEADERS } from "./own-headers.ts";
import { showText } from "../message/text.ts";
import { byKind, list, record } from "./collections.ts";
import { expanded, secret } from "./environment.ts";
import type { Entry, Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { ListenPlace } from "./settings.ts";
import { refine, type Shape } from "./shape.ts";
import { integer, text } from "./values.ts";

/** An http or https URL. Environment variables are filled in. */
export function url(protocols: readonly string[] = ["http:", "https:"]): Shape<string> {
  const names = protocols.map((protocol) => protocol.slice(0, -1));
  const what = `a URL (${names.join(" or ")})`;
  const shape = refine(expanded(text({ what })), (value, node, page) => {
    const bad = (why: string, suggestion: string): Wrong =>
      page.wrong(node, "bad-url", `${page.name()} ${why}`, suggestion);
    if (/[{}]/.test(value))
      return bad("has braces in it", "Write the whole URL: a message must not choose the destination");
    if (/[\s\p{Cc}]/u.test(value)) return bad("has spaces in it", "Take them out");
    const parsed = URL.canParse(value) ? new URL(value) : null;
    if (parsed === null || parsed.hostname === "") {
      const isBare = /^[\w.-]+(?::\d+)?(?:\/|$)/.test(value);
      return bad(
        "is not a URL",
        `Write ${isBare ? `${names[0]}://${showText(value, 60)}` : `${names[0]}://host:port/path`}`,
      );
    }
    if (!protocols.includes(parsed.protocol))
      return bad(`is not an ${names.join(" or ")} URL`, `Begin it with ${names[0]}://`);
    return value;
  });
  return {
    what,
    read(node, page) {
      hideSecrets(node, page);
      return shape.read(node, page);
    },
    schema: () => ({ type: "string", minLength: 1, examples: ["http://localhost:3000/mcp"] }),
  };
}

/** Stars out user and password, or the query, in excerpts: either may contain a secret. */
function hideSecrets(node: Node, page: Page): void {
  if (node.kind !== "scalar" || typeof node.value !== "string") return;
  const at = page.source.text.slice(node.start, node.end).search(/\?/);
  if (/:\/\/[^/]*@/.test(node.value)) page.source.hide(node);
  else if (at >= 0) page.source.hide({ start: node.start + at, end: node.end });
}

/** A port, or a host and a port. */
export function place(): Shape<ListenPlace> {
  const port: Shape<ListenPlace> = refine(integer({ min: 0, max: 65_535 }), (value) => ({
    host: "127.0.0.1",
    port: value,
  }));
  const both: Shape<ListenPlace> = refine(text({ what: "host:port" }), (value, node, page) => {
    const match = PLACE.exec(value);
    const number = Number(match?.[2] ?? -1);
    if (match === null || number < 0 || number > 65_535) {
      const suggestion = "Write a port such as 8808, or a host and a port such as 127.0.0.1:8808";
      return page.wrong(node, "bad-port", `${page.name()}: "${showText(value, 60)}" is not a port`, suggestion);
    }
    return { host: (match[1] ?? "127.0.0.1").replaceAll(/^\[|\]$/g, ""), port: number };
  });
  const shape = byKind({ number: port, text: both }, "a port or host:port");
  return {
    ...shape,
    schema: () => ({
      anyOf: [
        { type: "integer", minimum: 0, maximum: 65_535 },
        { type: "string", pattern: PLACE.source, examples: ["127.0.0.1:8808"] },
      ],
    }),
  };
}

const PLACE = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]/\s]+):)?(\d{1,5})$/;

/** Request headers by name. */
export function headers(): Shape<ReadonlyMap<string, string>> {
  const value = refine(secret(text({ mayBeEmpty: true })), (filled, node, page) => {
    const trimmed = filled.trim();
    if (/^[\t\x20-\x7e\x80-\xff]*$/.test(trimmed)) return trimmed;
    return page.wrong(
      node,
      "bad-header",
      `The value of header ${page.name()} cannot be sent`,
      "Take out line breaks and other odd characters",
    );
  });
  const shape = record(value, { what: "headers by name", checkName: checkHeader });
  return {
    ...shape,
    read(node, page) {
      const read = shape.read(node, page);
      if (read === WRONG || node.kind !== "map") return read;
      const seen = new Map<string, Entry>();
      let isRight = true;
      for (const entry of node.entries) {
        const first = seen.get(entry.name.toLowerCase());
        if (first !== undefined) {
          isRight = false;
          page.wrong(
            entry,
            "repeated-key",
            `The header ${entry.name} is there twice`,
            "Header names do not depend on case",
          );
        }
        seen.set(entry.name.toLowerCase(), entry);
      }
      return isRight ? read : WRONG;
    },
  };
}

function checkHeader(entry: Entry, page: Page): boolean {
  const { name, value } = entry;
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && name !== "__proto__") {
    if (!OWN_HEADERS.has(name.toLowerCase())) return true;
    page.wrong(entry, "bad-header", `The header ${name}cannot be set`, "Take it out");
  } else page.wrong(entry, "bad-header", "This is not the name of a header", "Write letters, digits and dashes");
  page.source.hide(value);
  return false;
}

/** Environment variables for a child process. */
export function variables(): Shape<ReadonlyMap<string, string>> {
  return record(secret(text({ mayBeEmpty: true })), {
    what: "variables by name",
    checkName(entry, page) {
      if (/^[^=\0]+$/.test(entry.name) && entry.name !== "__proto__") return true;
      page.wrong(entry, "wrong-value", "This is not the name of a variable", "Write NAME: value");
      return false;
    },
  });
}

/** Absolute paths or file URLs. Relative paths are refused, because each server resolves them differently. */
export function paths(): Shape<readonly string[]> {
  const path = refine(text({ what: "an absolute path" }), (value, node, page) => {
    if (value.includes("\0")) return page.wrong(node, "wrong-value", `${page.name()} has a NUL in it`, "Take it out");
    if (/^(?:\/|[A-Za-z]:[\\/]|\\\\|[a-z][a-z0-9+.-]+:\/\/)/.test(value)) return value;
    const suggestion = value.startsWith("~")
      ? "Write the whole path of your home directory"
      : `Write it from the root: /${showText(value, 60)}`;
    return page.wrong(node, "wrong-value", `${page.name()} must be an absolute path`, suggestion);
  });
  return list(path, { min: 1 });
}
