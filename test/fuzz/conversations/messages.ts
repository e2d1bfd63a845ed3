import { hides, LEAKY, NAMES } from "./policies.ts";

/** The two eras of the protocol. */
export type Era = "stateful" | "stateless";

/** What a client can ask. `about` is a name from the world, where it is about something. */
export interface Question {
  readonly method: string;
  readonly about?: string;
  readonly cursor?: string;
  readonly isDangerous?: boolean;
}

/** Everything that clients ask in conversations. Which of it is forbidden, the policy says. */
export const QUESTIONS: readonly Question[] = [
  { method: "ping" },
  { method: "prompts/list" },
  { method: "tools/list" },
  { method: "tools/list", cursor: "p2" },
  { method: "resources/list" },
  { method: "resources/templates/list" },
  { method: "tools/call", about: LEAKY },
  { method: "tools/call", about: "safe_a" },
  { method: "tools/call", about: "safe_b", isDangerous: true },
  { method: "tools/call", about: "secret_a" },
  { method: "tools/call", about: "extra_a" },
  { method: "tools/call", about: "other_a" },
  { method: "tools/call", about: "unknown_a" },
  { method: "prompts/get", about: "safe_a" },
  { method: "prompts/get", about: LEAKY },
  { method: "prompts/get", about: "secret_a" },
  { method: "prompts/get", about: "other_a" },
  { method: "resources/read", about: "safe_a" },
  { method: "resources/read", about: "secret_b" },
  { method: "resources/read", about: "extra_a" },
  { method: "completion/complete" },
  { method: "vendor/question" },
];

/** Whether a policy keeps this question from the server. */
export function forbids(policy: number, { method, about, isDangerous = false }: Question): boolean {
  if (about === undefined) return false;
  return isDangerous || hides(policy, about) || (method === "tools/call" && about.startsWith("unknown"));
}

/** A message whose id and progress token are filled in: who renames them on the way changes nothing else. */
export type Template = (id: string, progressToken: string | null) => string;

/** A request. Its token is how it is known again at the other side. */
export function composeQuestion(question: Question, era: Era, token: string): Template {
  const { method, about, cursor, isDangerous = false } = question;
  const members: string[] = [];
  if (cursor !== undefined) members.push(`"cursor":"${cursor}"`);
  if (method === "resources/read") members.push(`"uri":"${about}://x"`);
  else if (about !== undefined) members.push(`"name" :"${about}"`);
  if (method === "tools/call") members.push(`"arguments":{"n": 1.50,"danger":${isDangerous},"é":"\\u00e9"}`);
  if (method === "completion/complete")
    members.push('"ref":{"type":"ref/prompt","name":"safe_a"},"argument":{"name":"x","value":""}');
  return (id, progressToken) => {
    const meta = [`"t":"${token}"`, ...(era === "stateless" ? [STATELESS_META] : [])];
    if (progressToken !== null) meta.push(`"progressToken":${progressToken}`);
    const params = [...members, `"_meta":{${meta.join(", ")}}`].join(",");
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}", "params":{${params}}}`;
  };
}

const PREFIX = "io.modelcontextprotocol";
const STATELESS_META = `"${PREFIX}/protocolVersion":"2026-07-28","${PREFIX}/clientInfo":{"name":"tester","version":"1"},"${PREFIX}/clientCapabilities":{}`;

/** How a client of the older era begins. */
export function composeInitialize(revision: string, token: string): Template {
  const params = `"protocolVersion":"${revision}","capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"tester","version":"1"},"_meta":{"t":"${token}"}`;
  return (id) => `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":{${params}}}`;
}

/** What a server answers to that. */
export function composeWelcome(revision: string, token: string): Template {
  const result = `"protocolVersion":"${revision}","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"scripted","version":"1"},"_meta":{"t":"${token}"}`;
  return (id) => `{"jsonrpc":"2.0","id":${id},"result":{${result}}}`;
}

/** How an answer is put together. */
export interface AnswerOptions {
  readonly question: Question;
  readonly token: string;
  /** Makes a mark for something that a policy may keep from the client. */
  readonly mark: (name: string) => string;
  /** How many characters it is longer than it need be. */
  readonly padding: number;
  /** Whether the list of tools has a second page. */
  readonly isPaged: boolean;
}

/** What a server answers. For a list, `visible` gives the same with those entries only that a client may see. */
export interface Answer {
  readonly full: Template;
  readonly visible: (policy: number) => Template;
}

/** Answers a question as its method says, with a mark on everything that a policy may keep from the client. */
export function composeAnswer({ question, token, mark, padding, isPaged }: AnswerOptions): Answer {
  const { method, about = "", cursor } = question;
  const list = LISTS[method];
  const pad = padding === 0 ? "" : `,"pad":"${"x".repeat(padding)}"`;
  // A list of tools may be kept and shown again: a token in it would say nothing about whose answer it is.
  const meta = method === "tools/list" ? "" : `,"_meta":{"t":"${token}"}`;
  const wrap =
    (result: string): Template =>
    (id) =>
      `{"jsonrpc":"2.0","id":${id},"result":{${result}${pad}${meta}}}`;
  if (list !== undefined) {
    const page = method !== "tools/list" || !isPaged ? "all" : cursor === undefined ? "first" : "second";
    const names = page === "all" ? NAMES : NAMES.filter((_, index) => index % 2 === (page === "first" ? 0 : 1));
    const all = [...names, ...(method === "tools/list" && page !== "second" ? [LEAKY] : [])];
    const entries = all.map((name) => ({
      name,
      text: list.entry(name, /^(?:safe|leaky)/.test(name) ? "" : mark(name)),
    }));
    const next = page === "first" ? ',"nextCursor":"p2"' : "";
    const compose = (shown: typeof entries): Template =>
      wrap(`"${list.key}":[${shown.map(({ text }) => text).join(",")}]${next}`);
    return { full: compose(entries), visible: (policy) => compose(entries.filter(({ name }) => !hides(policy, name))) };
  }
  const text = about === LEAKY ? mark(LEAKY) : "said";
  const template =
    method === "prompts/get"
      ? wrap(`"messages":[{"role":"user","content":{"type":"text","text":"${text}"}}]`)
      : wrap(`"content":[{"type":"text","text":"${text}"}], "n":[1.50, 2E3]`);
  return { full: template, visible: () => template };
}

const LISTS: Readonly<Record<string, { key: string; entry: (name: string, mark: string) => string } | undefined>> = {
  "tools/list": {
    key: "tools",
    entry: (name, mark) => `{"name": "${name}","description":"${mark}","inputSchema":{"type":"object"}}`,
  },
  "prompts/list": { key: "prompts", entry: (name, mark) => `{"name": "${name}","description":"${mark}"}` },
  "resources/list": {
    key: "resources",
    entry: (name, mark) => `{"uri": "${name}://x","name":"x","description":"${mark}"}`,
  },
  "resources/templates/list": {
    key: "resourceTemplates",
    entry: (name, mark) => `{"uriTemplate": "${name}://{x}","name":"x","description":"${mark}"}`,
  },
};

/** The key a loose peer looks an id up by, as in docs/strict.md: a text that reads as an integer is that integer. */
export function keyOf(id: string): number | string {
  const value = JSON.parse(id) as number | string;
  return Number.isSafeInteger(Number(value)) ? Number(value) + 0 : value;
}

/** Other spellings of an id that somebody could take for it. The first is one that everybody does. */
export function respell(id: string): readonly string[] {
  const value = JSON.parse(id) as number | string;
  if (typeof value === "number")
    return [`"${value}"`, `"0x${value.toString(16)}"`, `" ${value}"`, `"0${value}"`, `${value}.0`];
  if (/^(?:0|[1-9]\d*)$/.test(value)) return [value, `"0x${Number(value).toString(16)}"`, `"${value} "`];
  return [`"\\u${value.charCodeAt(0).toString(16).padStart(4, "0")}${value.slice(1)}"`, `"${value} "`];
}

/** Whether an answer under this id is an answer to a request with that one: the same text, or the same integer. */
export function isSameId(one: string, other: string): boolean {
  return plainText(one) !== null && plainText(one) === plainText(other);
}

/** The text of an id; null for a number that is not written plainly, and so is not an id. */
function plainText(id: string): string | null {
  const value = JSON.parse(id) as unknown;
  if (typeof value === "string") return value;
  return /^-?\d+$/.test(id) ? id : null;
}
