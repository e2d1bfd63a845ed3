/** Writes to stdout what a person asked for. Resolves when it is written. */
export function print(text: string): Promise<void> {
  return write(process.stdout, text);
}

/** Writes to stderr what a person should hear. Resolves when it is written. */
export function complain(text: string): Promise<void> {
  return write(process.stderr, text);
}

/** Whether to write in colour: for a terminal, unless NO_COLOR asks not to (no-color.org). */
export function wantsColor({ isTTY }: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** A reader that has seen enough (`| head`) is no failure: the rest is written for nobody. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
