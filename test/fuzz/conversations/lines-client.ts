import { PassThrough } from "node:stream";
import type { ClientEnd } from "./client-end.ts";
import { Complaint, isOver } from "./records.ts";
import type { Stage } from "./stage.ts";

/** A client on a pair of streams in this process. */
export interface LinesClient extends ClientEnd {
  readonly input: PassThrough;
  readonly output: PassThrough;
}

/** Makes one. Its number is that of the only client there is. */
export function createLinesClient(stage: Stage): LinesClient {
  const input = new PassThrough();
  const output = new PassThrough();
  let rest = "";
  let isAlive = true;
  let isHeld = false;
  output.setEncoding("utf8");
  output.on("data", (text: string) =>
    stage.hear(() => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      stage.ledger.clientReceives(0, lines.join("\n"));
      for (const line of lines) {
        stage.note(`client hears ${line}`);
        stage.ledger.clientHears(0, line, { kind: "line", asks: [] });
      }
    }),
  );
  output.on("end", () =>
    stage.hear(() => {
      isAlive = false;
      stage.note("client hears the end");
      const waiting = stage.ledger.asks.find((ask) => !isOver(ask) && !ask.isCancelled);
      if (waiting !== undefined) throw new Complaint(`ended without an answer to request ${waiting.number}`);
    }),
  );
  let isUsed = false;
  return {
    input,
    output,
    prepare() {
      if (isUsed) return false;
      isUsed = true;
      return true;
    },
    isReady: true,
    send({ text }) {
      stage.note(`client says ${text}`);
      input.write(`${text}\n`);
    },
    listen: () => false,
    leave: () => false,
    hold() {
      isHeld = true;
      output.pause();
      return true;
    },
    read() {
      isHeld = false;
      output.resume();
    },
    remove: () => false,
    get isAlive() {
      return isAlive;
    },
    hears: () => isAlive && !isHeld,
    close: () => void input.end(),
  };
}
