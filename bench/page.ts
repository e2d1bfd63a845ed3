import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

/** Puts text between the two markers of docs/benchmarks.md. */
export function writePage(root: string, text: string): void {
  const file = join(root, "docs", "benchmarks.md");
  const page = readFileSync(file, "utf8");
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${BEGIN} … ${END}`);
  writeFileSync(file, `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`);
  // The table is checked like every other file.
  spawnSync(process.execPath, [join(root, "node_modules", "oxfmt", "bin", "oxfmt"), file], { cwd: root });
}
