import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { acceptAll, acceptSome, comparePins, type Definition, hashDefinition } from "../../src/policy/pins.ts";

const tool = (name: string, description = name, rest = ""): Definition => ({
  name,
  raw: Buffer.from(
    `{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"inputSchema":{}${rest}}`,
  ),
});

function states(before: readonly Definition[], after: readonly Definition[]): Record<string, string> {
  const { tools, gone } = comparePins(acceptAll(before), after);
  return Object.fromEntries([
    ...tools.map(({ name, state, formerly }) => [name, formerly === null ? state : `${state} from ${formerly}`]),
    ...gone.map((name) => [name, "gone"]),
  ]);
}

describe("a list is compared with what is remembered", () => {
  test("tool by tool", () => {
    const before = [tool("same"), tool("other"), tool("old"), tool("lost")];
    const after = [tool("same"), tool("other", "now evil"), tool("young", "old"), tool("fresh")];
    expect(states(before, after)).toEqual({
      same: "unchanged",
      other: "changed",
      young: "renamed from old",
      fresh: "new",
      lost: "gone",
    });
  });

  test("by what it says, not by how that is spelled", () => {
    const spelled: Definition = {
      name: "a",
      raw: Buffer.from('{ "inputSchema" : { } , "n\\u0061me":"\\u0061", "description":"\\u0061" }'),
    };
    expect(states([tool("a")], [spelled])).toEqual({ a: "unchanged" });
  });

  test("by all that it says, wherever it stands", () => {
    for (const rest of [
      ',"title":"x"',
      ',"annotations":{"readOnlyHint":true}',
      ',"_meta":{"ui":"x"}',
      ',"outputSchema":{"description":"x"}',
      ',"icons":[]',
      ',"anything":0',
    ]) {
      expect(states([tool("a")], [tool("a", "a", rest)])).toEqual({ a: "changed" });
    }
    expect(hashDefinition(tool("a", "a", ',"n":9007199254740993').raw)).not.toBe(
      hashDefinition(tool("a", "a", ',"n":9007199254740992').raw),
    );
  });

  test("a copy is no rename, and a name explains one rename only", () => {
    expect(states([tool("a", "x")], [tool("a", "x"), tool("b", "x")])).toEqual({ a: "unchanged", b: "new" });
    expect(states([tool("a", "x")], [tool("b", "x"), tool("c", "x")])).toEqual({ b: "renamed from a", c: "new" });
    expect(states([tool("a", "x"), tool("b", "x")], [tool("c", "x"), tool("d", "x")])).toEqual({
      c: "renamed from a",
      d: "renamed from b",
    });
  });

  test("two tools that changed names are both changed", () => {
    expect(states([tool("a", "x"), tool("b", "y")], [tool("a", "y"), tool("b", "x")])).toEqual({
      a: "changed",
      b: "changed",
    });
  });

  test("what is listed in two versions is not what it was, and is not remembered", () => {
    const twice = [tool("a"), tool("a", "evil")];
    expect(states([tool("a")], twice)).toEqual({ a: "changed" });
    expect(states([], twice)).toEqual({ a: "new" });
    expect(acceptAll(twice).size).toBe(0);
    expect(states([tool("a")], [tool("a"), tool("a")])).toEqual({ a: "unchanged" });
  });

  test("names are names, whatever they are", () => {
    const odd = [tool("__proto__"), tool("constructor"), tool("")];
    const { tools, gone } = comparePins(acceptAll(odd), odd);
    expect(tools.map(({ state }) => state)).toEqual(["unchanged", "unchanged", "unchanged"]);
    expect(gone).toEqual([]);
  });

  test("text that hides is pointed out", () => {
    const hidden = ["\u202e", "\u200b", "\u001b[31m", "\u{e0041}"];
    const { tools } = comparePins(new Map(), [tool("plain"), ...hidden.map((text, index) => tool(`${index}`, text))]);
    expect(tools.map(({ isOdd }) => isOdd)).toEqual([false, true, true, true, true]);
  });

  test("a tool may have one description in each era, but not two in one list", () => {
    const pins = acceptAll([tool("a"), tool("b")], [tool("a", "the newer"), tool("b")]);
    expect(comparePins(pins, [tool("a")]).tools[0].state).toBe("unchanged");
    expect(comparePins(pins, [tool("a", "the newer")]).tools[0].state).toBe("unchanged");
    expect(comparePins(pins, [tool("a"), tool("a", "the newer")]).tools[0].state).toBe("changed");
    expect(comparePins(pins, [tool("c", "the newer")]).tools[0]).toMatchObject({ state: "renamed", formerly: "a" });
    expect(typeof pins.get("b")).toBe("string");
  });

  test("some are accepted, and the rest stays as it was", () => {
    const before = acceptAll([tool("a"), tool("b"), tool("c")]);
    const now = acceptAll([tool("a", "x"), tool("b", "x"), tool("d")]);
    const next = acceptSome(before, now, ["a", "c", "d"]);
    expect([...next.keys()].sort()).toEqual(["a", "b", "d"]);
    expect([next.get("a"), next.get("b"), next.get("d")]).toEqual([now.get("a"), before.get("b"), now.get("d")]);
  });

  test("nothing is lost: every tool has a state, and what was accepted is unchanged", () => {
    const list = fc.array(
      fc.record({ name: fc.constantFrom("a", "b", "c", "d"), text: fc.constantFrom("x", "y", "z") }),
    );
    fc.assert(
      fc.property(list, list, (one, other) => {
        const [before, after] = [one, other].map((each) => each.map(({ name, text }) => tool(name, text)));
        const pins = acceptAll(before);
        const { tools, gone } = comparePins(pins, after);
        expect(tools.map(({ name }) => name)).toEqual([...new Set(after.map(({ name }) => name))]);
        const renamed = tools.flatMap(({ formerly }) => formerly ?? []);
        expect(new Set(renamed).size).toBe(renamed.length);
        const missing = [...pins.keys()].filter((name) => !after.some((definition) => definition.name === name));
        expect([...gone, ...renamed].sort()).toEqual(missing.sort());
        const again = comparePins(acceptAll(after), after);
        expect(again.gone).toEqual([]);
        for (const { name, state } of again.tools) {
          expect(state).toBe(acceptAll(after).has(name) ? "unchanged" : "new");
        }
      }),
    );
  });
});
