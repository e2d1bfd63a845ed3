/** Writes output of a command to stdout. Resolves when it is written. */
export function print(text: string): Promise<void> {
  return write(process.stdout, text);
}

/** Writes a message for people to stderr. Resolves when it is written. */
export function complain(text: string): Promise<void> {
  return write(process.stderr, text);
}

/**
 * Whether to write in colour: on a terminal, unless NO_COLOR is set (no-color.org). FORCE_COLOR takes precedence, as in
 * Node itself: 0 or false for never, anything else for always.
 */
export function wantsColor({ isTTY }: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** A colour or style of text. */
export type Tone = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Adds a tone to a text, or returns it unchanged without colours. */
export type Paint = (tone: Tone, text: string) => string;

/** Creates a paint function for a stream, in colour if `wantsColor` says so. */
export function createPaint(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  if (!wantsColor(stream, env)) return (_, text) => text;
  return (tone, text) => (text === "" ? "" : `\u001B[${CODES[tone]}m${text}\u001B[0m`);
}

const CODES: Record<Tone, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

/** A closed pipe (`| head`) is not an error: the rest of the output is discarded. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
