import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { composeHelp } from "../../src/cli/help.ts";
import { widthOf } from "../../src/cli/terminal.ts";

const exits = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8").split("\n## ")[2];

describe.each(COMMANDS.filter(({ isHidden }) => isHidden !== true))("the help of fairlead $name", (command) => {
  const help = composeHelp(command);

  test("fits the narrowest terminal", () => {
    for (const line of help.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });

  test("has the exit codes, and so does the page about errors", () => {
    expect(help).toContain("\nExit codes:\n  0   ");
    const named = [...exits.matchAll(/^\| (`[^|]*`)/gm)].map(([, cell]) => cell).join(" ");
    expect(named).toContain(command.name === "" ? "`fairlead -- …`" : command.name);
  });

  test("says of each option what it takes, and whether it may be repeated", () => {
    const words = help.replaceAll(/\s+/g, " ");
    for (const { name, value, repeats, choices = [] } of command.options) {
      expect(words).toContain(value === null ? `--${name}` : `--${name} ${value}`);
      const about = words.slice(words.indexOf(` --${name}`) + 1).split(/ --(?=[a-z-]+ [<[N'])/)[0];
      expect(about.includes("may be repeated"), `--${name}`).toBe(repeats === true);
      for (const choice of choices) expect(about).toContain(choice);
    }
  });
});

test("the variables that Fairlead looks at are in the help", () => {
  const help = composeHelp(COMMANDS[0]);
  for (const name of ["NO_COLOR", "FORCE_COLOR", "FAIRLEAD_AUDIT_KEY", "XDG_STATE_HOME"]) expect(help).toContain(name);
});
