// How often the kinds that `redact` looks for are found in text without secrets: manuals and source files of other
// projects.
//   node scripts/run.mjs bench/false-alarms.ts <folder>… [--show <kind>]
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { kindsOf, SENSITIVE_KINDS } from "../src/rules/sensitive/kinds.ts";

const args = process.argv.slice(2);
const shown = args.includes("--show") ? args[args.indexOf("--show") + 1] : null;
const folders = args.filter((arg) => arg !== "--show" && arg !== shown);
const MANUALS = new Set([".md", ".txt", ".rst"]);
const SOURCES = new Set([
  ".js",
  ".cjs",
  ".mjs",
  ".ts",
  ".mts",
  ".cts",
  ".json",
  ".yaml",
  ".yml",
  ".py",
  ".sh",
  ".html",
]);
const MAX_BYTES = 2 * 1024 * 1024;

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile() && statSync(path).size <= MAX_BYTES) yield path;
  }
}

const sizes = { manuals: 0, sources: 0 };
const files = { manuals: 0, sources: 0 };
const found = new Map<string, { manuals: number; sources: number }>();

for (const folder of folders) {
  for (const file of filesIn(folder)) {
    const extension = extname(file).toLowerCase();
    const sort = MANUALS.has(extension) ? "manuals" : SOURCES.has(extension) ? "sources" : null;
    if (sort === null) continue;
    const text = readFileSync(file, "utf8");
    sizes[sort] += text.length;
    files[sort]++;
    for (const kind of kindsOf("secrets") ?? []) {
      for (const { start, end } of SENSITIVE_KINDS[kind].find(text)) {
        const counts = found.get(kind) ?? { manuals: 0, sources: 0 };
        counts[sort]++;
        found.set(kind, counts);
        if (kind === shown)
          process.stdout.write(
            `${file}: ${JSON.stringify(text.slice(Math.max(0, start - 40), Math.min(end, start + 80)))}\n`,
          );
      }
    }
  }
}

const perMegabyte = (count: number, size: number): string => (count / (size / 1e6)).toFixed(2);
for (const sort of ["manuals", "sources"] as const)
  process.stdout.write(`${sort}: ${files[sort]} files, ${(sizes[sort] / 1e6).toFixed(1)} MB\n`);
for (const [kind, counts] of [...found].sort(
  ([, one], [, other]) => other.manuals + other.sources - one.manuals - one.sources,
))
  process.stdout.write(
    `${kind}: manuals ${counts.manuals} (${perMegabyte(counts.manuals, sizes.manuals)}/MB), ` +
      `sources ${counts.sources} (${perMegabyte(counts.sources, sizes.sources)}/MB)\n`,
  );
