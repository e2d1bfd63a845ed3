import { readJson } from "../naive-json.ts";
import { forbids, isSameId, type Template } from "./messages.ts";
import { hides, LEAKY } from "./policies.ts";
import { type Ask, type AskFacts, Complaint, isOver, type Made, type Saying, type Way } from "./records.ts";

/** The book of a conversation: who said what to whom, and whether what was heard is what should be. */
export interface Ledger {
  readonly asks: readonly Ask[];
  readonly sayings: readonly Saying[];
  /** Writes down a request before it is sent. */
  ask(facts: AskFacts, make: (token: string) => Template): Ask;
  /** Writes down another message of a client's before it is sent. Its text, with a token in it. */
  tell(make: (token: string) => string, about?: Ask | Saying): string;
  /** Writes down a message of the server's. */
  say(
    saying: Pick<Saying, "kind" | "client" | "ask" | "id" | "progressToken" | "isLate">,
    make: (token: string) => Made,
  ): { saying: Saying; text: string };
  /** Marks something that a policy may keep from the client. */
  mark(name: string): string;
  /** The policy that is in force from now on. Until the next rest, the one before it may be seen as well. */
  setPolicy(policy: number): void;
  rested(): void;
  readonly policy: number;
  /** What a server received: the request in it, if there is a client's in it. */
  serverHears(text: string, isRenamed: boolean): Ask | null;
  /** The server says something again: where it is a request, it may be answered again. */
  replay(text: string): void;
  /** The proxy begins a session anew with the client's own words: they may be heard again. */
  renew(): void;
  /** Looks at bytes that a client received, whatever they are. */
  clientReceives(client: number, text: string): void;
  /** What a client received as a message. */
  clientHears(client: number, text: string, way: Way): void;
}

/** Opens a book. `policy` is in force. */
export function createLedger(policy: number): Ledger {
  const asks: Ask[] = [];
  const sayings: Saying[] = [];
  const told: { text: string; about: Ask | Saying | null; arrivals: number }[] = [];
  const marks: { name: string }[] = [];
  let inForce = [policy]; // since the last rest
  let isRenewed = false;

  function serverHears(text: string, isRenamed: boolean): Ask | null {
    let found: Ask | null = null;
    for (const member of membersOf(text)) found = serverHearsOne(member, isRenamed) ?? found;
    return found;
  }

  function serverHearsOne(text: string, isRenamed: boolean): Ask | null {
    const [, kind, digits] = TOKEN.exec(text) ?? [];
    const number = Number(digits);
    if (kind === "q") {
      const ask = asks[number];
      ask.arrivals++;
      if (ask.isForbidden && inForce.every((each) => forbids(each, ask.question)))
        throw new Complaint(`passed a request that policy forbids: ${shorten(text)}`);
      const id = isRenamed ? idOf(text) : ask.id;
      const sent = ask.template(id, ask.progressToken === null || !isRenamed ? ask.progressToken : id);
      if (text !== sent) throw new Complaint(`changed a request that passes: ${shorten(text)} is not ${shorten(sent)}`);
      const isGreeting = isRenewed && ask.question.method === "initialize";
      if (ask.arrivals > 1 && !ask.isSpoilt && !isGreeting)
        throw new Complaint(`sent a request twice: ${shorten(text)}`);
      return ask;
    }
    if (kind === "n") {
      const { text: sent, about } = told[number];
      if (text !== sent) throw new Complaint(`changed a message that passes: ${shorten(text)} is not ${shorten(sent)}`);
      if (++told[number].arrivals > 1 && !(isRenewed && text.includes('"notifications/initialized"')))
        throw new Complaint(`sent a message twice: ${shorten(text)}`);
      if (about !== null && "question" in about) about.isCancelHeard = true;
      else if (about !== null) answered(about, text);
      return null;
    }
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: string };
    // Answers of the proxy's own to requests that it refuses.
    const refused =
      method === undefined ? sayings.find((each) => each.kind === "request" && JSON.parse(each.id) === id) : undefined;
    if (refused !== undefined) answered(refused, text);
    return null;
  }

  function clientReceives(client: number, text: string): void {
    for (const [, digits] of text.matchAll(MARKS)) {
      const { name } = marks[Number(digits)];
      if (name === LEAKY || inForce.every((each) => hides(each, name)))
        throw new Complaint(
          `client ${client} saw what policy keeps from it: ${name} in ${around(text, `<!${digits}>`)}`,
        );
    }
  }

  function clientHears(client: number, text: string, way: Way): void {
    // Those first that say which request they answer.
    const members = membersOf(text).map((member) => ({ member, message: parse(member) }));
    for (const { member, message } of members.sort(
      (one, other) => Number(one.message.id === null) - Number(other.message.id === null),
    )) {
      if (message.method !== undefined) hearsUnasked(client, member, message, way);
      else hearsAnswer(client, member, message, way);
    }
  }

  function hearsUnasked(client: number, text: string, { method, id }: Message, way: Way): void {
    const [, kind, digits] = TOKEN.exec(text) ?? [];
    if (kind === undefined) {
      if (method !== "notifications/tools/list_changed")
        throw new Complaint(`heard what nobody said: ${shorten(text)}`);
      return;
    }
    const saying = sayings[Number(digits)];
    if (kind !== "s" || saying.kind !== (id === undefined ? "notification" : "request"))
      throw new Complaint(`heard something as something else: ${shorten(text)}`);
    // A server may replay the events of one client to another. What is not an answer is not for us to keep.
    if (way.kind !== "resumed" || saying.client === client) checkText(client, text, saying);
    if (way.kind !== "resumed" && ++saying.heard > 1) throw new Complaint(`heard a message twice: ${shorten(text)}`);
  }

  function checkText(client: number, text: string, saying: Saying): void {
    if (saying.client !== null && saying.client !== client)
      throw new Complaint(`client ${client} heard what was said to client ${saying.client}: ${shorten(text)}`);
    if (saying.visible === null) throw new Complaint(`passed what must not pass: ${shorten(text)}`);
    const { ask } = saying;
    const id = ask === null || saying.kind !== "answer" ? saying.id : idOf(text);
    if (ask !== null && saying.kind === "answer" && !isSameId(id, ask.id))
      throw new Complaint(`heard an answer under another id than ${ask.id}: ${shorten(text)}`);
    const { visible } = saying;
    const tokens = [saying.progressToken, ask?.progressToken ?? null]; // as the server has it, or as the client has it
    const expected = inForce.flatMap((each) => tokens.map((token) => visible(each)(id, token)));
    if (!expected.includes(text))
      throw new Complaint(`changed what passes: ${shorten(text)} is not ${shorten(expected[0])}`);
  }

  function hearsAnswer(client: number, text: string, message: Message, way: Way): void {
    const [, kind, digits] = TOKEN.exec(text) ?? [];
    if (kind === undefined) return hearsOwnAnswer(client, text, message, way);
    const saying = sayings[Number(digits)];
    const { ask } = saying;
    if (kind !== "s" || saying.kind !== "answer") throw new Complaint(`heard something as an answer: ${shorten(text)}`);
    if (ask === null) return;
    if (ask.client !== client)
      throw new Complaint(`client ${client} heard the answer to client ${ask.client}: ${shorten(text)}`);
    checkText(client, text, saying);
    if (way.kind === "response" && !way.asks.includes(ask))
      throw new Complaint(`answered on another stream: ${shorten(text)}`);
    if (way.kind === "resumed") {
      if (!isOver(ask)) ask.end = "answered on a resumed stream";
      return;
    }
    if (saying.isLate) throw new Complaint(`answered a request that was cancelled: ${shorten(text)}`);
    if (++ask.answers > 1) throw new Complaint(`answered twice: ${shorten(text)}`);
  }

  /** An answer without a token: an error of the proxy's own, or a list of tools. */
  function hearsOwnAnswer(client: number, text: string, message: Message, way: Way): void {
    const ask = findAsk(client, message, idOf(text), way);
    if (ask === undefined) {
      if (way.kind === "resumed") return;
      throw new Complaint(`heard an answer to nothing: ${shorten(text)}`);
    }
    if ("result" in message) {
      if (ask.question.method !== "tools/list") throw new Complaint(`made up a result: ${shorten(text)}`);
    } else if (ask.mustPass && !ask.isSpoilt) throw new Complaint(`refused what may pass: ${shorten(text)}`);
    ask.answers++;
  }

  /** The request that an answer without a token belongs to. The id alone need not tell: it may have been used twice. */
  function findAsk(client: number, { id, result }: Message, spelled: string, way: Way): Ask | undefined {
    const candidates = way.kind === "response" ? way.asks : asks.filter((each) => each.client === client);
    const open = candidates.filter((each) => !isOver(each));
    if (id === null)
      return open.findLast((each) => each.isDuplicate && each.arrivals === 0) ?? open.find(({ mustPass }) => !mustPass);
    const same = open.filter((each) => isSameId(each.id, spelled));
    // What comes again belongs to a request that was answered; an error may be the only answer it gets.
    if (way.kind === "resumed" && result === undefined)
      return same.find(({ isSpoilt, isAlone }) => isSpoilt && !isAlone);
    if (result !== undefined) {
      const list = same.find(({ question }) => question.method === "tools/list");
      return list ?? (way.kind === "resumed" ? undefined : same[0]);
    }
    return (
      same.find(({ isSpoilt, isReplied, isCancelled }) => isSpoilt && isReplied && !isCancelled) ??
      same.find(({ arrivals, isCancelled }) => arrivals === 0 && !isCancelled) ??
      same.find(({ isSpoilt }) => isSpoilt) ??
      same[0]
    );
  }

  return {
    asks,
    sayings,
    ask(facts, make) {
      const number = asks.length;
      const noted: Ask = {
        ...facts,
        number,
        template: make(`<q${number}>`),
        mates: [],
        arrivals: 0,
        answers: 0,
        isCancelled: false,
        isCancelHeard: false,
        isLeft: false,
        resumeAfter: null,
        end: null,
        isSpoilt: false,
        isReplied: false,
      };
      asks.push(noted);
      return noted;
    },
    tell(make, about) {
      const text = make(`<n${told.length}>`);
      told.push({ text, about: about ?? null, arrivals: 0 });
      return text;
    },
    say(said, make) {
      const number = sayings.length;
      const { full, visible } = make(`<s${number}>`);
      const saying: Saying = { ...said, number, visible, heard: 0, answers: 0 };
      sayings.push(saying);
      return { saying, text: full(said.id, said.progressToken) };
    },
    mark: (name) => `<!${marks.push({ name }) - 1}>`,
    setPolicy: (next) => void inForce.push(next),
    replay(text) {
      const [, kind, digits] = TOKEN.exec(text) ?? [];
      if (kind === "s") sayings[Number(digits)].answers = 0;
    },
    renew: () => void (isRenewed = true),
    rested: () => void (inForce = inForce.slice(-1)),
    get policy() {
      return inForce.at(-1) ?? 0;
    },
    serverHears,
    clientReceives,
    clientHears,
  };
}

function answered(saying: Saying, text: string): void {
  if (++saying.answers > 1) throw new Complaint(`answered the server twice: ${shorten(text)}`);
}

/** A token, as it stands in every message but a list of tools. */
const TOKEN = /<([qns])(\d+)>/;
const MARKS = /<!(\d+)>/g;

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

function parse(text: string): Message {
  try {
    return JSON.parse(text) as Message;
  } catch {
    throw new Complaint(`heard what is not JSON: ${shorten(text)}`);
  }
}

/** The text of a message's id, which stands in front in all messages of these conversations. */
function idOf(text: string): string {
  return /"id"\s*:\s*("(?:[^"\\]|\\.)*"|[^,}\s]+)/.exec(text)?.[1] ?? "null";
}

/** The messages in a text: itself, or those of a batch. */
function membersOf(text: string): string[] {
  if (!text.startsWith("[")) return [text];
  const bytes = Buffer.from(text);
  const { tree } = readJson(bytes);
  if (tree === null) throw new Complaint(`a batch that is not JSON: ${shorten(text)}`);
  return tree.elements.map(({ start, end }) => bytes.toString("utf8", start, end));
}

function shorten(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 300)}…${text.slice(-80)}`;
}

function around(text: string, what: string): string {
  const at = text.indexOf(what);
  return text.slice(Math.max(0, at - 100), at + 60);
}
