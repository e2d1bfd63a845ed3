import { createHash } from "node:crypto";
import { type Contact, findServer, openContact } from "../bridge/find-server.ts";
import type { ChainServices, ForkWatch } from "../rules/chain/services.ts";
import { parseAddress } from "../link/upstream/address.ts";
import { createPool, type Pool } from "../link/upstream/pool.ts";
import { canonicalBytes } from "../message/canonical.ts";
import { OPEN_OBJECT } from "../message/characters.ts";
import type { Span } from "../message/envelope.ts";
import { eachMember, findMember } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import type { Reporter } from "../record/log/report.ts";
import type { Witness } from "../record/witness.ts";
import { eraOf } from "../session/era.ts";
import type { Session } from "../session/session.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from "./limits.ts";

/** Sends copies of requests, to the same server or to a second one. */
export type Fork = ChainServices["fork"];

/** Options of a fork. */
export interface ForkOptions {
  readonly reporter: Reporter;
  readonly witness: Witness;
  readonly version: string;
}

/** How many copies may be in progress at a time. Further copies are not sent, because they are not essential. */
const MAX_COPIES = 100;
const ANSWER_MS = 60_000;

/** Makes a fork. The responses to copies are not forwarded; a difference from the original response is logged. */
export function createFork({ reporter, witness, version }: ForkOptions): Fork & { close(): void } {
  const seconds = new Map<string, SecondServer>();
  let sent = 0;

  const fork: Fork = (action, rule, turn, message) => {
    const { envelope, bytes } = message;
    if (envelope.kind !== "request") return null;
    const name = `rule:${rule.id}`;
    const method = envelope.method.name;
    const question = { method, cursor: null, timeoutMs: ANSWER_MS };
    const era = eraOf(bytes, envelope.params);
    const answers: Promise<Gist>[] = [];
    for (let copy = 0; copy < action.copies; copy++) {
      if (sent >= MAX_COPIES) {
        witness.count("fork", { outcome: "skipped", rule: name });
        break;
      }
      sent++;
      const asked =
        action.to === null
          ? (turn.session as Session).ask({ ...question, era, params: copyParams(message, null, true) })
          : secondAt(action.to).ask((greeting) => ({
              ...question,
              era: greeting.era,
              params: copyParams(message, greeting.meta, false),
            }));
      answers.push(asked.then(gistOf, (error: Error) => failed(error)).finally(() => sent--));
    }
    return watch(name, method, answers);
  };

  function watch(name: string, method: string, answers: readonly Promise<Gist>[]): ForkWatch {
    return {
      answered(message) {
        const own = gistOf(message);
        for (const answer of answers) {
          void answer.then((other) => {
            const isSame = own.hash !== "" && own.hash === other.hash;
            witness.count("fork", { outcome: isSame ? "same" : "differs", rule: name });
            if (!isSame) {
              const fields = { method, request: own.about, copy: other.about };
              reporter.report(name, "the response to a copy differs from the original response", {
                level: "info",
                fields,
              });
            }
          });
        }
      },
    };
  }

  function secondAt(url: string): SecondServer {
    let second = seconds.get(url);
    if (second === undefined) seconds.set(url, (second = createSecondServer(url, version)));
    return second;
  }

  return Object.assign(fork, {
    close() {
      for (const second of seconds.values()) second.close();
    },
  });
}

type Ask = Contact["client"]["ask"];
type Greeting = Awaited<ReturnType<Contact["client"]["greet"]>>;

interface SecondServer {
  ask(compose: (greeting: Greeting) => Parameters<Ask>[0]): ReturnType<Ask>;
  close(): void;
}

/** A server that receives copies. The handshake happens when it is first needed, and again if it failed. */
function createSecondServer(url: string, version: string): SecondServer {
  const address = parseAddress(url);
  const pool: Pool = createPool(
    address,
    { timeoutMs: DEFAULT_TIMEOUTS.connection, ca: null, env: process.env },
    () => {},
  );
  const options = {
    pool,
    address,
    headers: () => "",
    permit: () => Promise.resolve(false),
    connectMs: DEFAULT_TIMEOUTS.connection,
    listMs: DEFAULT_TIMEOUTS.toolList,
    maxMessageBytes: DEFAULT_LIMITS.maxMessageBytes,
    version,
  };
  let met: Promise<{ contact: Contact; greeting: Greeting }> | null = null;

  async function meet(): Promise<{ contact: Contact; greeting: Greeting }> {
    const found = await findServer(options);
    const contact = await openContact(options, found.kind, found.address);
    const greeting = await contact.client.greet("either");
    if (!greeting.isWelcome) throw new Error("the second server refused initialize");
    return { contact, greeting };
  }

  return {
    async ask(compose) {
      met ??= meet();
      try {
        const { contact, greeting } = await met;
        return await contact.client.ask(compose(greeting));
      } catch (error) {
        met = null;
        throw error;
      }
    },
    close() {
      void met?.then(({ contact }) => contact.end.close()).catch(() => {});
      pool.close();
    },
  };
}

/**
 * The params of a copy, as JSON text. Progress tokens and the like are left out: otherwise the client would be notified
 * about the copy.
 */
function copyParams({ bytes, envelope }: Message, meta: string | null, keepsMeta: boolean): string {
  const members: string[] = [];
  if ("params" in envelope && envelope.params !== null)
    eachMember(bytes, envelope.params, (key, value) => {
      if (key !== "_meta") members.push(member(key, bytes.toString("utf8", value.start, value.end)));
      else if (keepsMeta && bytes[value.start] === OPEN_OBJECT) {
        const kept: string[] = [];
        eachMember(bytes, value, (name, inner) => {
          if (name !== "progressToken") kept.push(member(name, bytes.toString("utf8", inner.start, inner.end)));
        });
        members.push(member("_meta", `{${kept.join(",")}}`));
      }
    });
  if (meta !== null) members.push(member("_meta", meta));
  return `{${members.join(",")}}`;
}

function member(key: string, text: string): string {
  return `${JSON.stringify(key)}:${text}`;
}

/**
 * What a response says, independent of its id and spelling. Its text is not kept, because a request may wait for long.
 * Nothing of it is logged, because results belong to the client.
 */
interface Gist {
  readonly hash: string;
  /** A description for the log: its kind and size, and the code of an error. */
  readonly about: string;
}

function gistOf({ bytes, envelope }: Message): Gist {
  if (envelope.kind === "result") return makeGist("result", bytes, envelope.result);
  if (envelope.kind !== "error") return { hash: "", about: "no answer" };
  const code = findMember(bytes, envelope.error, "code");
  const shown = code === null ? "" : ` ${bytes.toString("latin1", code.start, Math.min(code.end, code.start + 12))}`;
  return makeGist(`error${shown}`, bytes, envelope.error);
}

function makeGist(kind: string, bytes: Buffer, value: Span): Gist {
  const about = `${kind}, ${value.end - value.start} bytes`;
  let text: Buffer;
  try {
    text = canonicalBytes(bytes, value);
  } catch {
    text = bytes.subarray(value.start, value.end); // too large for canonical form: compare the bytes
  }
  return { hash: createHash("sha256").update(kind).update(text).digest("base64url"), about };
}

function failed(error: Error): Gist {
  return { hash: "", about: `failed: ${error.message}` };
}
