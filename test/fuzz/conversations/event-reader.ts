/** An event as the plainest of readers finds it. */
export interface PlainEvent {
  readonly id: string | null;
  readonly name: string | null;
  readonly data: string | null;
}

/** Reads an event stream in the plainest way: lines that end in LF, fields with one space after the colon. */
export function readEvents(take: (event: PlainEvent) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    rest += text;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const values = (name: string): string[] =>
        lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).replace(/^ /, "")] : []));
      const data = values("data");
      take({
        id: values("id").at(-1) ?? null,
        name: values("event").at(-1) ?? null,
        data: data.length === 0 ? null : data.join("\n"),
      });
    }
  };
}
