import { isUtf8 } from "node:buffer";
import { NOTHING, type Outcome, UNTOUCHED } from "../../src/action/outcome.ts";
import { type Payload, whole } from "../../src/message/message.ts";
import { readJson } from "./naive-json.ts";
import type { Plant } from "./rig.ts";

// Bugs planted on purpose, each a passage that is wrong in one way. A fuzzer that does not find
// them is not looking.

/** Judges what it was given after somebody tidied it up, and lets the original pass. */
function tidying(tidy: (text: string) => string): Plant {
  return (passage) => ({
    ...passage,
    pass(payload, direction, exchange) {
      const text = textOf(payload);
      const tidied = tidy(text);
      return passage.pass(tidied === text ? payload : whole(latin1(tidied)), direction, exchange);
    },
  });
}

/** Changes what becomes of a message. */
function meddling(meddle: (outcome: Outcome, text: string) => Outcome): Plant {
  return (passage) => ({
    ...passage,
    pass(payload, direction, exchange) {
      const outcome = passage.pass(payload, direction, exchange);
      return outcome instanceof Promise ? outcome : meddle(outcome, textOf(payload));
    },
  });
}

function isBack({ onward, back }: Outcome, words: string): boolean {
  return onward === "nothing" && back?.includes(words) === true;
}

/** Every planted bug, by what it does wrong. */
export const PLANTS = {
  "lets a carriage return inside a message pass": tidying((text) => text.replaceAll("\r", " ")),
  "lets a duplicate key pass": tidying((text) =>
    readJson(latin1(text)).fault === "duplicate-key" ? JSON.stringify(JSON.parse(text)) : text,
  ),
  "lets the case variant of a key pass": tidying((text) =>
    text.replace(/"(METHOD|Method|PARAMS|Params|ARGUMENTS|Arguments)"(?=\s*:)/g, '"x-$1"'),
  ),
  "lets bytes that are no UTF-8 pass": tidying((text) =>
    isUtf8(latin1(text)) ? text : text.replace(/[\x80-\xff]/g, "?"),
  ),
  "lets an id be a fraction": tidying((text) => text.replace(/"id":(\d+)\.\d+/, '"id":$1')),
  "lets a denied tool pass when its name is escaped": meddling((outcome, text) =>
    isBack(outcome, "Tool not found") && /"name":"[^"]*\\u00/.test(text) ? UNTOUCHED : outcome,
  ),
  "drops a byte of a message that passes": meddling((outcome, text) =>
    outcome === UNTOUCHED && text.includes(" :") ? { onward: latin1(text.replace(" :", ":")), back: null } : outcome,
  ),
  "writes a number anew": meddling((outcome, text) =>
    outcome === UNTOUCHED && text.includes("-3e2")
      ? { onward: latin1(text.replace("-3e2", "-300")), back: null }
      : outcome,
  ),
  "answers twice": meddling((outcome) =>
    outcome.back !== null && isBack(outcome, "-32601")
      ? { onward: "nothing", back: Buffer.concat([outcome.back, Buffer.from("\n"), outcome.back]) }
      : outcome,
  ),
  "does not answer a refused request": meddling((outcome) => (isBack(outcome, "duplicate key") ? NOTHING : outcome)),
  "holds back what may pass": meddling((outcome, text) =>
    outcome === UNTOUCHED && text.includes(Buffer.from("€").toString("latin1")) ? NOTHING : outcome,
  ),
  "lets an answer pass that nobody waits for": meddling((outcome, text) =>
    outcome === NOTHING && /^\{"jsonrpc":"2\.0","id":"?\d+"?,"result":\{("\w+":"\w+")?\}\}$/.test(text)
      ? UNTOUCHED
      : outcome,
  ),
  "shows a hidden tool when it is the last of the list": meddling((outcome, text) =>
    outcome.onward instanceof Buffer && outcome.onward.includes('"tools":[') && text.includes('"object"}}]')
      ? UNTOUCHED
      : outcome,
  ),
  "decides by where the chunk began": (passage) => ({
    ...passage,
    pass(payload, direction, exchange) {
      const outcome = passage.pass(payload, direction, exchange);
      return payload.start > 0 && outcome === UNTOUCHED ? NOTHING : outcome;
    },
  }),
  "crashes on a lone surrogate": tidying((text) => {
    if (text.includes("\\ud800")) throw new Error("a lone surrogate");
    return text;
  }),
} satisfies Record<string, Plant>;

/** What the oracle says of each of them. */
export const COMPLAINTS: Record<keyof typeof PLANTS, RegExp> = {
  "lets a carriage return inside a message pass": /passed what is refused \(carriage-return\)/,
  "lets a duplicate key pass": /passed what is refused \(duplicate-key\)/,
  "lets the case variant of a key pass": /passed what is refused \(variant-key\)/,
  "lets bytes that are no UTF-8 pass": /passed what is refused \(not-utf8\)|answered what does not ask/,
  "lets an id be a fraction": /passed what is refused \(bad-id\)/,
  "lets a denied tool pass when its name is escaped": /passed what is refused \(tool\)/,
  "drops a byte of a message that passes": /changed what passes/,
  "writes a number anew": /changed what passes/,
  "answers twice": /answered twice/,
  "does not answer a refused request": /left a request without an answer/,
  "holds back what may pass": /held back what may pass/,
  "lets an answer pass that nobody waits for": /passed what is refused \(stray\)/,
  "shows a hidden tool when it is the last of the list": /filtered a list wrongly|changed more than the list/,
  "decides by where the chunk began": /where it was cut made a difference|held back/,
  "crashes on a lone surrogate": /crashed: Error: a lone surrogate/,
};

function textOf({ bytes, start, end }: Payload): string {
  return bytes.toString("latin1", start, end);
}

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
