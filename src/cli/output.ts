/** Writes to stdout what a person asked for. Resolves when it is written. */
export function print(text: string): Promise<void> {
  return write(process.stdout, text);
}

/** Writes to stderr what a person should hear. Resolves when it is written. */
export function complain(text: string): Promise<void> {
  return write(process.stderr, text);
}

/**
 * Whether to write in colour: on a terminal, unless NO_COLOR asks not to (no-color.org). FORCE_COLOR decides before either,
 * as it does for Node itself: 0 or false for never, anything else for always.
 */
export function wantsColor({ isTTY }: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** How a piece of text can look. */
export type Tone = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Puts a text into a tone, or leaves it as it is where there are no colours. */
export type Paint = (tone: Tone, text: string) => string;

/** Paints for a stream, in colour where that is wanted. */
export function createPaint(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  if (!wantsColor(stream, env)) return (_, text) => text;
  return (tone, text) => (text === "" ? "" : `\u001B[${CODES[tone]}m${text}\u001B[0m`);
}

const CODES: Record<Tone, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

/** A reader that has seen enough (`| head`) is no failure: the rest is written for nobody. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
