import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedaction } from "../../../src/rules/transform/redact.ts";
import { stripControl } from "../../../src/rules/transform/strip-control.ts";
import { editTexts, type TextChange } from "../../../src/rules/transform/texts.ts";
import { createTruncation } from "../../../src/rules/transform/truncate.ts";
import { splice } from "../../../src/message/edit.ts";
import { whole } from "../../../src/message/message.ts";
import { isPlainText } from "../../../src/message/text.ts";
import type { RulePattern } from "../../../src/rules/rule.ts";
import { jsonText } from "../../fuzz/json-texts.ts";
import { readJson } from "../../fuzz/naive-json.ts";
import { createRandom } from "../../fuzz/random.ts";
import { cpuTime } from "../../support/cpu.ts";
import { runs } from "../../support/runs.ts";

function changed(text: string, change: TextChange, keys = true, isBody = true): string {
  const bytes = Buffer.from(text);
  const edits = editTexts(bytes, { start: 0, end: bytes.length }, { keys, isBody }, change);
  return splice(whole(bytes), edits).toString("utf8");
}

const redact = (kinds: readonly string[], patterns: readonly RulePattern[] = []): TextChange =>
  createRedaction({ kinds, patterns, by: "[{kind}]" });

const shout: TextChange = (text) => (text.includes("y") ? text.toUpperCase() : text);

/** A text without the strings that change. */
const rest = (one: string): string =>
  one.replaceAll(/"(?:[^"\\]|\\.)*"/g, (string) => (/y/i.test(JSON.parse(string) as string) ? '""' : string));

const count = (text: string): number => Array.from(text).length;

describe("texts are changed one by one", () => {
  test("a change is what the same is to each text of a parsed value, and the others keep their bytes", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const text = jsonText(createRandom(seed));
        if (readJson(Buffer.from(text)).tree === null) return;
        const after = changed(text, shout, false, false);
        const wanted: unknown = JSON.parse(text, (_, value: unknown) =>
          typeof value === "string" ? shout(value, null) : value,
        );
        expect(JSON.parse(after)).toEqual(wanted);
        // What stands between the changed strings is what stood there.
        expect(rest(after)).toBe(rest(text));
      }),
      { numRuns: runs(1000) },
    );
  });

  test("an escape hides nothing, and what does not change keeps its escapes", () => {
    expect(changed('["jo\\u0040x.example","\\u0041\\/"]', redact(["email"]))).toBe('["[email]","\\u0041\\/"]');
  });

  test("names of members are texts, too, and stay different", () => {
    expect(changed('{"a@x.example":1,"b@x.example":{"c@x.example":2}}', redact(["email"]))).toBe(
      '{"[email]":1,"[email] 2":{"[email] 3":2}}',
    );
  });

  test("what peers only hand back to each other is left alone", () => {
    const text =
      '{"requestState":"a@x.example","cursor":"a@x.example","_meta":{"progressToken":"a@x.example","other":"a@x.example"},"arguments":{"cursor":"a@x.example"}}';
    const wanted =
      '{"requestState":"a@x.example","cursor":"a@x.example","_meta":{"progressToken":"a@x.example","other":"[email]"},"arguments":{"cursor":"[email]"}}';
    expect(changed(text, redact(["email"]))).toBe(wanted);
  });

  test("ten megabytes of short strings, and of one long one, take a moment", async () => {
    const strings = JSON.stringify(Array.from({ length: 400_000 }, (_, index) => `text number ${index}`));
    const long = JSON.stringify("some words and 1.2.3 4 numbers @ all ".repeat(270_000));
    for (const text of [strings, long]) {
      expect(await cpuTime(() => changed(text, redact(["secrets", "personal"])))).toBeLessThan(10_000);
    }
  }, 60_000);
});

describe("redaction", () => {
  test("puts the name of what was there in its place", () => {
    expect(redact(["personal"])("mail a@x.example from 10.0.0.1", null)).toBe("mail [email] from [ipv4]");
    expect(redact(["email"])("10.0.0.1", null)).toBe("10.0.0.1");
  });

  test("takes what overlaps for one thing", () => {
    expect(redact(["email", "basic_auth"])("https://jo:pw@x.example/", null)).toBe("https://[basic_auth]/");
    expect(redact(["email", "ipv4"])("jo.10.0.0.1@x.example", null)).toBe("[email]");
  });

  test("finds a secret key by the name of its member", () => {
    const secret = "x".repeat(40);
    expect(changed(`{"SecretAccessKey":"${secret}","other":"${secret}"}`, redact(["aws"]))).toBe(
      `{"SecretAccessKey":"[aws]","other":"${secret}"}`,
    );
  });

  test("takes patterns: the places they find, or the whole text", () => {
    const source = "ACME-[0-9]+";
    const plain: RulePattern = { source, test: (text) => /ACME-[0-9]+/.test(text) };
    const finding: RulePattern = {
      ...plain,
      findAll: (text) =>
        Array.from(text.matchAll(/ACME-[0-9]+|$/g), ({ 0: { length }, index }) => ({
          start: index,
          end: index + length,
        })),
    };
    expect(redact([], [plain])("see ACME-1", null)).toBe("[pattern]");
    expect(redact([], [finding])("see ACME-1, ACME-22", null)).toBe("see [pattern], [pattern]");
    expect(redact([], [finding])("nothing", null)).toBe("nothing");
  });

  test("does not know what it was not taught", () => {
    expect(() => redact(["passwords"])).toThrow("nothing of the kind passwords is known");
  });

  test("done twice is done once", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a@b.example", "10.0.0.1", " ", "ghp_", "x", "+49 30 1234567", "://u:p@h/"), {
          maxLength: 12,
        }),
        (parts) => {
          const once = redact(["secrets", "personal"])(parts.join(" "), null);
          expect(redact(["secrets", "personal"])(once, null)).toBe(once);
        },
      ),
    );
  });
});

describe("truncation", () => {
  test("cuts between characters and says how many are gone", () => {
    expect(createTruncation(3)("abcdef", null)).toBe("abc… [3 more characters]");
    expect(createTruncation(2)("😀😀😀", null)).toBe("😀😀… [1 more characters]");
    expect(createTruncation(3)("😀😀😀", null)).toBe("😀😀😀");
    expect(createTruncation(0)("a", null)).toBe("… [1 more characters]");
  });

  test("leaves names and data of images whole", () => {
    const cut = createTruncation(5);
    expect(cut("resource_link", "type")).toBe("resource_link");
    expect(cut("x".repeat(2000), "name")).toContain("1995 more characters");
    expect(cut("iVBORw0KGgo=", "data")).toBe("iVBORw0KGgo=");
    expect(cut("some words here", "data")).toContain("more characters");
  });

  test("done twice is done once, whatever the text, and never longer than it may be", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.nat(40), (text, most) => {
        const once = createTruncation(most)(text, null);
        expect(createTruncation(most)(once, null)).toBe(once);
        const [, kept, gone] = /^([^]*)… \[(\d+) more characters\]$/.exec(once) ?? [null, once, "0"];
        expect(count(kept)).toBeLessThanOrEqual(most);
        expect(count(kept) + Number(gone)).toBe(count(text));
        expect(text.startsWith(kept)).toBe(true);
      }),
    );
  });
});

describe("stripping", () => {
  test.each([
    ["plain\ttext\n", "plain\ttext\n"],
    ["a\u001b[31mred\u001b[0m b", "ared b"],
    ["\u001b]8;;http://evil.example\u0007link\u001b]8;;\u001b\\", "link"],
    ["\u001b]0;no end", "0;no end"],
    ["\u001b[38;5", "38;5"],
    ["\u009b31mx\u0090dcs\u009cy", "xy"],
    ["\u001b(B\u001bcx", "x"],
    ["a\r\nb\rc\u2028d\u0085e", "a\nbc\nd\ne"],
    ["evil\u202etxt.exe\u202c\u2066\u2069\u200e", "eviltxt.exe"],
    ["a\u200bb\u200dc\ufeffd\u2060e\u00ad", "abcde"],
    ["x\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "x"],
    ["x\ufe0f\u{e0101}\u3164", "x"],
    ["\ud800x\udc00", "x"],
    ["\u0000\u0008\u007f\u0080", ""],
    ["\u0600 \u06dd seen", "\u0600 \u06dd seen"],
    ["😀 é 漢字", "😀 é 漢字"],
  ])("%j", (text, wanted) => {
    expect(stripControl(text)).toBe(wanted);
  });

  test("leaves nothing that a person does not see, and done twice is done once", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(
            fc.constantFrom(...Array.from("\u001b[]\u009b\u0090\u009c\u0007;m1a\u200b\u202e\ud800\ude00\u2028\r\n")),
            fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
          ),
        }),
        (text) => {
          const once = stripControl(text);
          expect(stripControl(once)).toBe(once);
          expect(
            isPlainText(once.replaceAll(/[\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/gu, "")),
          ).toBe(true);
        },
      ),
      { numRuns: runs(2000) },
    );
  });

  test("takes no more time than the text is long", async () => {
    for (const piece of [
      "\u001b",
      "\u001b[",
      "\u001b[1",
      "\u001b]",
      "\u001b]a",
      "\u0090",
      "\u0090a",
      "\u009b;",
      "\u001b ",
      "\u200b",
      "\ud800",
    ]) {
      const text = piece.repeat(500_000 / piece.length);
      expect(await cpuTime(() => stripControl(text)), JSON.stringify(piece)).toBeLessThan(1000);
    }
  });
});
