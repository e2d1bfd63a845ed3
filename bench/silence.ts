/** When the current wait began. */
let waitingSince = Infinity;

/** Starts the timeout for a response. */
export function expectAnswer(): void {
  waitingSince = performance.now();
}

/** Stops the timeout. */
export function expectNothing(): void {
  waitingSince = Infinity;
}

/** Ends the run if a response has been missing for a minute. */
export function watchForSilence(): void {
  setInterval(() => {
    if (performance.now() - waitingSince < MAX_SILENCE_MS) return;
    process.stderr.write("\nNo answer for a minute: giving up.\n");
    process.exit(1);
  }, 5000).unref();
}

const MAX_SILENCE_MS = 60_000;
