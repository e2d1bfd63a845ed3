import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** The folder of the project. */
export const root = join(import.meta.dirname, "../..");

/** The README and the pages of docs/, by name. */
export function readPages(): Record<string, string> {
  const names = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];
  const pages = names.filter((name) => name.endsWith(".md"));
  return Object.fromEntries(pages.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

/** All fenced blocks of the README and of docs/. */
export function readBlocks(): Block[] {
  return Object.entries(readPages()).flatMap(([page, text]) =>
    [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
      page,
      line: text.slice(0, match.index).split("\n").length,
      language: match[1],
      text: match[2],
    })),
  );
}

/** The texts that a type of ours is a union of. */
export function readUnion(file: string, type: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const union = new RegExp(`^export type ${type} =([^;]*);`, "m").exec(source)?.[1] ?? "";
  const members = [...union.matchAll(/\| "([^"]+)"/g)].map(([, member]) => member);
  if (members.length === 0) throw new Error(`no union of texts: ${type} in ${file}`);
  return members;
}

/** A command in a block, and what it should print. */
export interface Scene {
  readonly command: string;
  readonly output: string;
}

/** The commands of a console block: each `$ ` line with what follows it. */
export function readScenes(text: string): Scene[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}

/** Whether output is what a page shows. A line with nothing but `…` stands for any number of lines. */
export function isShown(shown: string, output: string): boolean {
  const pattern = shown
    .split("\n")
    .map((line) =>
      line === "…" ? "(?:.*\n)*?" : `${line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("…", ".*?")}\n`,
    )
    .join("")
    .replace(/\n$/, "");
  return new RegExp(`^${pattern}$`).test(output);
}
