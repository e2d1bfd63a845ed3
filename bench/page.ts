import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Replaces the text between the two markers of this name in docs/benchmarks.md. */
export function writePage(root: string, marker: string, text: string): void {
  const begins = `<!-- ${marker}:begin -->`;
  const ends = `<!-- ${marker}:end -->`;
  const file = join(root, "docs", "benchmarks.md");
  const page = readFileSync(file, "utf8");
  const begin = page.indexOf(begins);
  const end = page.indexOf(ends);
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${begins} … ${ends}`);
  writeFileSync(file, `${page.slice(0, begin + begins.length)}\n\n${text}\n\n${page.slice(end)}`);
  // Formatted, because the format check covers this file too.
  spawnSync(process.execPath, [join(root, "node_modules", "oxfmt", "bin", "oxfmt"), file], { cwd: root });
}
