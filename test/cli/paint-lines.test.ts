import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPaint } from "../../src/cli/output.ts";
import { paintExplanation, paintMistakes } from "../../src/cli/paint-lines.ts";

/** Colours that can be read in a test. */
const named = (tone: string, text: string): string => `<${tone}>${text}</>`;

const MISTAKES = `fairlead.yaml:3:5: Unknown key: dney
 3 |     dney: [x]
   |     ^^^^
   = Did you mean deny?

fairlead.yaml:9:1: warning: nothing can match
fairlead.yaml: 1 mistake (1 warning)
other.yaml: no mistakes (2 rules)
`;

test("mistakes have their place, their mark and their remedy in colour", () => {
  expect(paintMistakes(MISTAKES, named)).toBe(`<bold>fairlead.yaml:3:5: </><red>Unknown key: dney</>
<dim> 3 | </>    dney: [x]
<dim>   |     </><red>^^^^</>
<dim>   = </><cyan>Did you mean deny?</>

<bold>fairlead.yaml:9:1: </><yellow>warning: nothing can match</>
fairlead.yaml: <red>1 mistake</> (1 warning)
other.yaml: <green>no mistakes</> (2 rules)
`);
});

const EXPLANATION = `tools/call delete_note
  ✓ no-deletes (line 4): matches
      ✓ method_equals tools/call, it is tools/call
      ✗ tool_matches /x/, it is delete_note
      → block
  - later (line 9): is judged when the answer comes

Outcome: refused by rule:no-deletes: -32001 No deletes
`;

test("an explanation shows at a glance what matched and what became of it", () => {
  expect(paintExplanation(EXPLANATION, named)).toBe(`tools/call delete_note
  <green>✓</><bold> no-deletes (line 4): matches</>
      <green>✓</> method_equals tools/call, it is tools/call
      <dim>✗</> tool_matches /x/, it is delete_note
<yellow>      → block</>
  <dim>-</> later (line 9): is judged when the answer comes

<bold>Outcome: </><red>refused by rule:no-deletes: -32001 No deletes</>
`);
  expect(paintExplanation("Outcome: passes as it is\n", named)).toContain("<green>passes as it is</>");
  expect(paintExplanation("Outcome: passes, changed by rule:x\n", named)).toContain("<yellow>passes, changed");
});

test.each([
  ["mistakes", paintMistakes],
  ["an explanation", paintExplanation],
])("colours change nothing of the text: %s", (_, paint) => {
  const lines = fc.array(
    fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(...MISTAKES.split("\n"), ...EXPLANATION.split("\n"))),
  );
  fc.assert(
    fc.property(lines, (some) => {
      const text = some.map((line) => stripVTControlCharacters(line)).join("\n");
      expect(stripVTControlCharacters(paint(text, createPaint({ isTTY: true }, {})))).toBe(text);
      expect(paint(text, createPaint({}, {}))).toBe(text);
    }),
  );
});
