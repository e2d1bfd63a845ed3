/** Splits a command line into words like a shell. Null if it has only one word. */
export function splitCommand(text: string): string[] | null {
  const words = [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => {
    return word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? "");
  });
  return words.length > 1 ? words : null;
}
