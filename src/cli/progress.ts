import type { StartProgress } from "../proxy/patience.ts";

/** Shows on stderr that a command is still waiting for a server, and why. */
export interface Progress {
  tell(progress: StartProgress): void;
  /** Clears the last line on a terminal. */
  end(): void;
}

/** Nothing is shown during this time. */
const FIRST_MS = 3000;
/** The time between two lines if the output is not a terminal. */
const LINE_MS = 5000;

/** Creates a progress display: one line that is updated on a terminal, otherwise a new line every few seconds. */
export function createProgress(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }): Progress {
  const isTerminal = stream.isTTY === true && process.env["TERM"] !== "dumb";
  let next = FIRST_MS;
  let isShown = false;
  return {
    tell({ elapsedMs, isWorking }) {
      if (elapsedMs < next) return;
      const text = `${describe(isWorking)} (${Math.round(elapsedMs / 1000)} s)`;
      if (isTerminal) stream.write(`${CLEAR}${text}`);
      else {
        next = elapsedMs + LINE_MS;
        stream.write(`${text}\n`);
      }
      isShown = isTerminal;
    },
    end() {
      if (isShown) stream.write(CLEAR);
    },
  };
}

/** Moves to the start of the line and clears it. */
const CLEAR = "\r\u001b[2K";

function describe(isWorking: boolean | null): string {
  if (isWorking === null) return "Waiting for the server to answer";
  return isWorking
    ? "Waiting for the server: it is busy, and may be installing packages"
    : "Waiting for the server: it is idle";
}

/**
 * Handles the signals that end a command. The first one aborts the returned signal, so that child processes can be
 * ended; the second one exits.
 */
export function heedInterruptions(): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: controller.signal,
    end() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
