import type { StartProgress } from "../proxy/patience.ts";

/** Says on stderr that a server is still being waited for, and why. */
export interface Progress {
  tell(progress: StartProgress): void;
  /** Takes away what was said last, where that can be taken away. */
  end(): void;
}

/** What is waited for longer than this is worth a word. */
const FIRST_MS = 3000;
/** How often a line is written where lines stay. */
const LINE_MS = 5000;

/** Makes one: a line that changes on a terminal, and elsewhere another line every few seconds. */
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

/** Back to the start of the line, and nothing on it. */
const CLEAR = "\r\u001b[2K";

function describe(isWorking: boolean | null): string {
  if (isWorking === null) return "Waiting for the server to answer";
  return isWorking
    ? "Waiting for the server: it is busy, and may be installing packages"
    : "Waiting for the server: it is idle";
}

/** Heeds the signals that end a command. The first one is for ending what was started; the second one ends us. */
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
