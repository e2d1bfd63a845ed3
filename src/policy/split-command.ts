/** The words of a command line that was written as one text, as a shell would split it. Null where it has only one. */
export function splitCommand(text: string): string[] | null {
  const words = [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => {
    return word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? "");
  });
  return words.length > 1 ? words : null;
}
