/** When we began to wait for what we wait for. */
let waitingSince = Infinity;

/** Says that an answer is awaited from now on. */
export function expectAnswer(): void {
  waitingSince = performance.now();
}

/** Says that nothing is awaited. */
export function expectNothing(): void {
  waitingSince = Infinity;
}

/** Ends the run when somebody has not answered for a minute. */
export function watchForSilence(): void {
  setInterval(() => {
    if (performance.now() - waitingSince < MAX_SILENCE_MS) return;
    process.stderr.write("\nNo answer for a minute: giving up.\n");
    process.exit(1);
  }, 5000).unref();
}

const MAX_SILENCE_MS = 60_000;
