import { expect, test } from "vitest";
import { commandLine, type Machine } from "../../src/link/windows.ts";

const FILES = new Set([
  "C:\\node\\npx.cmd",
  "C:\\node\\node.exe",
  "C:\\npm\\mcp-server-files.cmd",
  "C:\\npm\\both.exe",
  "C:\\npm\\both.cmd",
  "C:\\tools\\here.bat",
]);
const windows: Machine = {
  platform: "win32",
  env: { Path: "C:\\node;C:\\npm", PATHEXT: ".COM;.EXE;.BAT;.CMD" },
  exists: (file) => FILES.has(file),
};

test("elsewhere a command is started as it is", () => {
  const args = ["-y", 'a "b" & c', "%PATH%"];
  expect(commandLine("npx", args, { ...windows, platform: "linux" })).toEqual({
    command: "npx",
    args,
    verbatim: false,
  });
});

test.for(["node", "both", "nowhere", "C:\\Program Files\\nodejs\\node.exe", "npx.exe", "x.cmd.exe"])(
  "on Windows %s is a program, or not to be found, and is started as it is",
  (command) => {
    const args = ["a b", 'c"d'];
    expect(commandLine(command, args, windows)).toEqual({ command, args, verbatim: false });
  },
);

test.for([
  ["npx", "C:\\node\\npx.cmd"],
  ["mcp-server-files", "C:\\npm\\mcp-server-files.cmd"],
  ["C:\\tools\\here", "C:\\tools\\here.bat"],
  ["server.bat", "server.bat"],
  ["C:\\tools\\Server.CMD", "C:\\tools\\Server.CMD"],
])("on Windows %s is a batch file, which the interpreter runs", ([command, script]) => {
  expect(commandLine(command, ["-y"], windows)).toEqual({
    command: "cmd.exe",
    args: ["/d", "/s", "/c", `"^"${script}^" ^"-y^""`],
    verbatim: true,
  });
});

/** What a program gets to see: the interpreter's carets taken away, then the words as Windows programs read them. */
function readWords(args: readonly string[]): string[] {
  const line = args[3].slice(1, -1).replaceAll(/\^([\s\S])/g, "$1");
  const words: string[] = [];
  let word = "";
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const slashes = /^\\*/.exec(line.slice(at))?.[0].length ?? 0;
    const next = line[at + slashes];
    if (slashes > 0) {
      word += "\\".repeat(next === '"' ? slashes >> 1 : slashes);
      at += slashes - 1;
      if (next === '"' && slashes % 2 === 1) {
        word += '"';
        at++;
      }
    } else if (next === '"') quoted = !quoted;
    else if (next === " " && !quoted) {
      words.push(word);
      word = "";
    } else word += next;
  }
  return [...words, word];
}

test.for([
  ["plain"],
  ["", "empty"],
  ["two words", "tab\there"],
  ['say "hello"', '"', '""'],
  ["C:\\dir\\", "C:\\my dir\\", "\\\\host\\share\\\\"],
  ['back\\"slash', 'two\\\\"', '\\"'],
  ["a&b|c<d>e^f", "(g)", "!h!", "i;j,k"],
  ['{"json":"with \\"quotes\\" & signs"}'],
])("on Windows a batch file gets the words it was given: %s", (args) => {
  expect(readWords(commandLine("npx", args, windows).args)).toEqual(["C:\\node\\npx.cmd", ...args]);
});

test("on Windows nothing in a word is left for the interpreter to act on", () => {
  const { args } = commandLine("npx", ['a" & calc & "b', "c|d>e<f", "(g)"], windows);
  const bare = args[3].slice(1, -1).replaceAll(/\^[\s\S]/g, "");
  expect(bare).not.toMatch(/[()%!^"<>&|]/);
});
