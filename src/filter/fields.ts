/** What a field holds, which decides which operators may follow its name. */
export type FieldKind = "text" | "word" | "amount";

/**
 * When a field is known for a message that a breakpoint stops: with the request, only with the response, or only after
 * the message has been decided. The time of a stopped message is always now.
 */
export type Known = "request" | "answer" | "later" | "now";

/** The fields that hold text. */
export type TextField =
  | "method"
  | "tool"
  | "client"
  | "server"
  | "session"
  | "identity"
  | "process"
  | "rule"
  | "note"
  | "error"
  | "id"
  | BodyField;

/** The fields that look into the body of a message. They are known only if the bytes were kept. */
export type BodyField = "arg" | "result" | "text";

/** The fields that hold one of a few words. */
export type WordField = "dir" | "kind" | "class" | "verdict" | "is";

/** The fields that hold a number. */
export type AmountField = "latency" | "held" | "bytes" | "sent" | "code" | "score" | "time";

/** Every field of the filter language. */
export type FieldName = TextField | WordField | AmountField;

/** A word that a field can hold, or a state that a row can be in. */
export interface Word {
  readonly name: string;
  /** Its meaning, as a sentence for help pages. */
  readonly help: string;
  readonly known: Known;
  /** Other words that people use for it. */
  readonly also: readonly string[];
}

/** A unit of an amount, and its size in the smallest unit. */
export interface Unit {
  readonly name: string;
  readonly factor: number;
  /** Other words that people use for it. */
  readonly also: readonly string[];
}

/** The definition of one field. */
export interface FieldDefinition {
  readonly name: FieldName;
  readonly kind: FieldKind;
  /** What it holds, as a sentence for help pages. */
  readonly help: string;
  readonly known: Known;
  /** Whether a path may follow the name, as in `arg.path`. */
  readonly hasPath: boolean;
  /** Whether it holds a name. An asterisk in a name is then assumed to be meant as a wildcard. */
  readonly isName: boolean;
  readonly words: readonly Word[];
  /** The units of an amount. Empty for a plain number. */
  readonly units: readonly Unit[];
  /** Other words that people use for it. */
  readonly also: readonly string[];
}

const NONE = Object.freeze([]);

const DURATIONS: readonly Unit[] = [
  unit("ms", 1, "msec", "msecs", "millis", "milliseconds"),
  unit("s", 1000, "sec", "secs", "second", "seconds"),
  unit("m", 60_000, "min", "mins", "minute", "minutes"),
  unit("h", 3_600_000, "hr", "hrs", "hour", "hours"),
];

/** The units of a relative time, such as `-10m`. */
export const AGES: readonly Unit[] = [...DURATIONS, unit("d", 86_400_000, "day", "days")];

// A kilobyte has 1,024 bytes, as in a policy file.
const SIZES: readonly Unit[] = [
  unit("B", 1, "byte", "bytes"),
  unit("KB", 1024, "k", "kib"),
  unit("MB", 1024 ** 2, "m", "mib"),
  unit("GB", 1024 ** 3, "g", "gib"),
];

const DIRECTIONS: readonly Word[] = [
  word("up", "From the client to the server.", "upstream", "request", "in"),
  word("down", "From the server to the client.", "downstream", "response", "answer", "out"),
];

const KINDS: readonly Word[] = [
  word("request", "A request, with its answer where there is one.", "call"),
  word("notification", "A message that has no response.", "notify"),
  word("result", "An answer without its request.", "response", "answer"),
  word("error", "An error without its request."),
  word("batch", "Several messages in one."),
  word("opaque", "Bytes that are not a readable message.", "unreadable", "invalid"),
];

const CLASSES: readonly Word[] = [
  word("pass", "Routine, such as ping: in the audit log only if it records everything."),
  word("log", "Worth a line in the audit log, such as a list."),
  word("review", "Judged by the policy, such as a call of a tool."),
];

const VERDICTS: readonly Word[] = [
  word("pass", "It was forwarded unchanged.", "allow", "allowed", "passed", "ok"),
  word("deny", "It was refused, and the sender was told.", "block", "blocked", "denied", "refuse", "refused", "reject"),
  word("drop", "It was refused, and no response was sent because none is expected.", "dropped", "discard"),
  word("hide", "Entries of a list were hidden.", "hidden"),
  word("edit", "Hidden names were removed from it.", "edited"),
  word("change", "A rule or an interceptor changed it.", "changed", "rewrite", "modified", "redact"),
  word("reply", "Fairlead answered it.", "replied", "cache", "cached"),
  word("hold", "It waits for a person's decision.", "held", "park", "wait", "waiting"),
];

const STATES: readonly Word[] = [
  state("open", "later", "A request that has no answer yet.", "pending", "waiting"),
  state("error", "answer", "The answer is an error, or a result with isError.", "failed", "failure", "errors"),
  state("refused", "later", "Fairlead refused it: the verdict is deny or drop.", "denied", "deny", "blocked", "block"),
  state("changed", "later", "Fairlead changed it: the verdict is hide, edit or change.", "edited", "modified"),
  state("held", "later", "It waits for a person's decision, or did.", "hold", "parked"),
  state("slow", "answer", "It took longer than 95 % of the calls of its tool, and at least 250 ms."),
  state("late", "answer", "The answer came after the client had given up."),
  state("cancelled", "later", "The request was cancelled.", "canceled", "aborted"),
  state("observed", "later", "A rule that only observes would have acted.", "watched", "would"),
  state("unusual", "request", "Its anomaly score is above the limit.", "anomalous", "anomaly", "odd"),
  state("flipped", "later", "A second policy decides differently about it.", "different", "flip"),
  state("marked", "later", "It was marked in the dashboard.", "mark", "starred"),
];

/** Every field, in the order in which help pages list them. */
export const FIELDS: readonly FieldDefinition[] = [
  text("method", "The method, such as tools/call; for a response, the method of its request.", "request"),
  text("tool", "The tool, prompt, resource or task that the message names.", "request", "name"),
  text("client", "The name of the client, as it reports it.", "request"),
  text("server", "The server's name.", "request", "upstream"),
  text("session", "The id of the session.", "request"),
  text("identity", "The identity of the client, if it is known.", "request", "user", "who", "principal"),
  text("process", "The Fairlead process that handled the message, if several run.", "request", "pid"),
  text("rule", "The id of the rule that decided, or the name of a built-in one, such as tools.", "later", "policy"),
  {
    ...text("note", "A remark about a message that passed although something about it is unusual.", "later"),
    isName: false,
  },
  { ...text("error", "The message of the error it was answered with.", "answer", "message"), isName: false },
  text("id", "The JSON-RPC id.", "request"),
  body("arg", "An argument of the call: arg.path, arg.files[0].name.", "request", "args", "argument", "arguments"),
  body("result", "A part of the result: result.content[0].text.", "answer", "response", "answer", "res"),
  { ...body("text", "Anything in the arguments or the answer.", "request", "body", "content"), hasPath: false },
  words("dir", "The direction of the message; for an exchange, of its request.", "request", DIRECTIONS, "direction"),
  words("kind", "The kind of message.", "request", KINDS, "type"),
  words("class", "How closely messages of this method are checked.", "request", CLASSES, "level"),
  words("verdict", "What Fairlead did with it.", "later", VERDICTS, "status", "action", "decision"),
  words("is", "The state of the message.", "request", STATES, "state", "has"),
  amount("latency", "How long the answer took.", "answer", DURATIONS, "duration", "took", "elapsed"),
  amount("held", "How long it was held for a decision.", "later", DURATIONS, "waited"),
  amount("bytes", "The size of the message.", "request", SIZES, "size", "length"),
  amount("sent", "The size of the message after Fairlead changed it.", "later", SIZES),
  amount("code", "The code of the error it was answered with.", "answer", NONE, "errorcode"),
  amount("score", "How unusual it is, from 0 to 1.", "request", NONE, "anomaly"),
  amount("time", "When it arrived.", "now", AGES, "date", "when", "since", "at"),
];

const BY_NAME: ReadonlyMap<string, FieldDefinition> = new Map(FIELDS.map((field) => [field.name, field]));

/** The field with this name, or undefined. */
export function findField(name: string): FieldDefinition | undefined {
  return BY_NAME.get(name);
}

/** The word of a field with this name, regardless of letter case, or undefined. */
export function findWord(field: FieldDefinition, name: string): Word | undefined {
  const small = name.toLowerCase();
  return field.words.find((word) => word.name === small);
}

/** The element for which people also use this word, or undefined. */
export function findAlso<Named extends { readonly also: readonly string[] }>(
  named: readonly Named[],
  written: string,
): Named | undefined {
  const small = written.toLowerCase();
  return named.find(({ also }) => also.includes(small));
}

function unit(name: string, factor: number, ...also: string[]): Unit {
  return { name, factor, also };
}

function word(name: string, help: string, ...also: string[]): Word {
  return { name, help, known: "request", also };
}

function state(name: string, known: Known, help: string, ...also: string[]): Word {
  return { name, help, known, also };
}

function text(name: TextField, help: string, known: Known, ...also: string[]): FieldDefinition {
  return { name, kind: "text", help, known, hasPath: false, isName: true, words: NONE, units: NONE, also };
}

function body(name: BodyField, help: string, known: Known, ...also: string[]): FieldDefinition {
  return { ...text(name, help, known, ...also), hasPath: true, isName: false };
}

function words(
  name: WordField,
  help: string,
  known: Known,
  words: readonly Word[],
  ...also: string[]
): FieldDefinition {
  return { name, kind: "word", help, known, hasPath: false, isName: false, words, units: NONE, also };
}

function amount(
  name: AmountField,
  help: string,
  known: Known,
  units: readonly Unit[],
  ...also: string[]
): FieldDefinition {
  return { name, kind: "amount", help, known, hasPath: false, isName: false, words: NONE, units, also };
}
