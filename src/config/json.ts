import type { Json } from "../message/json.ts";
import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";
import { isOrdinary, repeated, wrongKind, wrongNumber } from "./values.ts";

/** Any JSON value. */
export function json(): Shape<Json> {
  return { what: "a value", read: readJson, schema: () => ({}) };
}

/** A map with free keys and JSON values. */
export function jsonMap(): Shape<{ readonly [key: string]: Json }> {
  return {
    what: "a map of keys",
    read(node, page) {
      if (node.kind !== "map") return wrongKind(node, page, "a map of keys");
      return readJson(node, page) as { readonly [key: string]: Json } | Wrong;
    },
    schema: () => ({ type: "object" }),
  };
}

function readJson(node: Node, page: Page): Json | Wrong {
  switch (node.kind) {
    case "scalar":
      return isOrdinary(node.value) ? node.value : wrongNumber(node, page);
    case "list": {
      const items: Json[] = [];
      for (let nth = 0; nth < node.length; nth++) {
        const item = readJson(node.item(nth), page);
        if (item !== WRONG) items.push(item);
      }
      return items.length === node.length ? items : WRONG;
    }
    case "map": {
      const object: { [key: string]: Json } = {};
      let isRight = true;
      for (const entry of node.entries) {
        const { name, value } = entry;
        // Assigning this key would replace the prototype of the object.
        if (name === "__proto__") {
          isRight = false;
          page.wrong(entry, "wrong-value", "__proto__ cannot be a key", "Take it out");
        } else if (Object.hasOwn(object, name)) {
          isRight = repeated(page, node, entry);
        } else {
          const read = readJson(value, page);
          if (read === WRONG) isRight = false;
          else object[name] = read;
        }
      }
      return isRight ? object : WRONG;
    }
  }
}
