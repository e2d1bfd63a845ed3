import type { Ask } from "./records.ts";
import { composeAnswer, composeWelcome } from "./messages.ts";
import type { Outlet, Pending } from "./server-end.ts";
import type { Stage } from "./stage.ts";

/** What a scripted server knows, whatever its transport: what it was asked, and has not answered. */
export interface Script {
  readonly pending: Pending[];
  /** The requests that were answered, to be answered again. */
  readonly answered: Pending[];
  /** Whether the proxy's own requests for lists have to wait. */
  holdsOwn: boolean;
  /** Takes what was received. `answer` is where answers to it go. Says which client it was that greets, if one did. */
  receive(text: string, outlet: Outlet, isRenamed: boolean): Received;
  /** Answers the proxy's own requests that were held. */
  freeOwn(): void;
}

/** What was in a message that a server received. */
export interface Received {
  /** How many requests it has. */
  readonly requests: number;
  /** Who greets: a client, or the proxy itself. */
  readonly greets: Ask | "own" | null;
}

/** How a server behaves. */
export interface ScriptOptions {
  readonly revision: string;
  readonly isPaged: boolean;
}

/** Makes one. */
export function createScript(stage: Stage, { revision, isPaged }: ScriptOptions): Script {
  const pending: Pending[] = [];

  function answerOwn({ question, id, outlet }: Pending): void {
    const { method } = question;
    let text: string;
    if (method === "initialize") text = composeWelcome("2025-11-25", "")(id, null);
    else if (method === "server/discover") text = DISCOVERED.replace("ID", () => id);
    else
      text = composeAnswer({ question, token: "", mark: (name) => stage.ledger.mark(name), padding: 0, isPaged }).full(
        id,
        null,
      );
    if (outlet.isBare) outlet.respond(text, 200);
    else outlet.say(text, false);
  }

  /** Greetings are always answered, and at once. */
  function welcome({ ask, id, outlet }: Pending): void {
    if (ask === null) return;
    const { text } = stage.ledger.say(
      { kind: "answer", client: ask.client, ask, id, progressToken: null, isLate: false },
      (token) => {
        const template = composeWelcome(revision, token);
        return { full: template, visible: () => template };
      },
    );
    stage.note(`server welcomes ${ask.number}`);
    if (outlet.isBare) outlet.respond(text, 200);
    else outlet.say(text, false);
  }

  const script: Script = {
    pending,
    answered: [],
    holdsOwn: false,
    receive(text, outlet, isRenamed) {
      stage.note(`server hears ${text}`);
      let requests = 0;
      let greets: Ask | "own" | null = null;
      const all = text.startsWith("[") ? (JSON.parse(text) as object[]) : [JSON.parse(text) as object];
      stage.ledger.serverHears(text, isRenamed);
      for (const message of all as Spoken[]) {
        if (message.method === undefined || message.id === undefined) continue;
        requests++;
        const ask = askOf(message);
        const { cursor, name, uri, _meta: meta } = message.params ?? {};
        const token = meta?.["progressToken"];
        const one: Pending = {
          ask,
          question: ask?.question ?? {
            method: message.method,
            ...(cursor === undefined ? {} : { cursor }),
            ...(name === undefined ? {} : { about: name ?? uri }),
          },
          id: JSON.stringify(message.id),
          progressToken: token === undefined ? null : JSON.stringify(token),
          outlet,
        };
        if (message.method === "initialize") greets = ask ?? "own";
        if (ask === null && (message.method !== "tools/list" || !script.holdsOwn)) answerOwn(one);
        else if (message.method === "initialize") welcome(one);
        else {
          if (ask !== null) ask.isReplied = false; // what came of it in a session that is gone does not count
          pending.push(one);
        }
      }
      return { requests, greets };
    },
    freeOwn() {
      script.holdsOwn = false;
      for (const one of pending.filter(({ ask }) => ask === null)) {
        pending.splice(pending.indexOf(one), 1);
        answerOwn(one);
      }
    },
  };
  return script;

  function askOf(message: Spoken): Ask | null {
    const [, digits] = /^<q(\d+)>$/.exec(String(message.params?.["_meta"]?.["t"])) ?? [];
    return digits === undefined ? null : stage.ledger.asks[Number(digits)];
  }
}

interface Spoken {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly cursor?: string;
    readonly name?: string;
    readonly uri?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

const DISCOVERED =
  '{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"scripted","version":"1"}}}';
