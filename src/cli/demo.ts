import { PassThrough } from "node:stream";
import { OWN_REVISION } from "../message/protocol.ts";
import { parsePatternList } from "../policy/patterns.ts";
import { createProxy } from "../proxy/proxy.ts";
import type { AuditEvent } from "../record/event.ts";
import { createLog } from "../record/log/log.ts";
import { createPaint, print, type Tone } from "./output.ts";
import { EXAMPLE_DENY, EXAMPLE_SERVER, showLine } from "./usage.ts";

const DENY = "^delete_";

// What the client sends, with a title for each step. The last step but one hides a call behind a harmless method: of
// two equal keys, some parsers use the first and some the last.
const SCENES: readonly { readonly title: string; readonly says: string; readonly waits: boolean }[] = [
  {
    title: "The client sends initialize. It passes, byte for byte.",
    says: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${OWN_REVISION.stateful}","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}`,
    waits: true,
  },
  {
    title: "",
    says: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    waits: false,
  },
  {
    title: "It asks for the list of tools. The server has four; the client sees two.",
    says: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    waits: true,
  },
  {
    title: "It calls a tool from that list. The spaces and the 1.0 arrive exactly as written.",
    says: '{"method":"tools/call", "params":{"name":"write_note","arguments":{"text":"water the plants","weight":1.0}}, "jsonrpc":"2.0","id":2}',
    waits: true,
  },
  {
    title: "It calls a hidden tool. The server never receives the call.",
    says: '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"delete_everything"}}',
    waits: true,
  },
  {
    title: "It tries to smuggle the call past the filter, with two methods in one message.",
    says: '{"jsonrpc":"2.0","id":4,"method":"ping","method":"tools/call","params":{"name":"delete_everything"}}',
    waits: true,
  },
  {
    title: "And the notes are still there.",
    says: '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_notes"}}',
    waits: true,
  },
];

/** Sends a few messages through a real proxy to a real server, and shows what happens to each. */
export async function runDemo(): Promise<number> {
  const paint = createPaint(process.stdout, process.env);
  const input = new PassThrough();
  const output = new PassThrough();
  let heard: (() => void) | undefined;
  const show = (mark: string, line: string): void => write(`  ${mark} ${paint("dim", cut(line))}\n`);
  output.setEncoding("utf8");
  output.on("data", (text: string) => {
    for (const line of text.trimEnd().split("\n")) show("client ◀", line);
    heard?.();
  });
  const proxy = await createProxy({
    command: [process.execPath, process.argv[1], "demo-server"],
    deny: parsePatternList(DENY, "deny"),
    client: { input, output },
    log: createLog({ level: "error" }),
    audit: (event) => write(`           ${paint(TONE[event.verdict], explain(event))}\n`),
    auditAll: true,
  });
  process.on("exit", () => proxy.abandon());
  write(`A server with four tools, behind ${paint("bold", `fairlead --deny '${DENY}' -- notes-server`)}\n`);
  for (const { title, says, waits } of SCENES) {
    if (title !== "") write(`\n${paint("bold", title)}\n`);
    show("client ▶", says);
    const answered = new Promise<void>((resolve) => {
      heard = resolve;
    });
    input.write(`${says}\n`);
    if (waits) await answered;
  }
  input.end();
  const { code } = await proxy.ended;
  write(`\n${paint("bold", "Put it in front of a server of yours.")} In your client's config, where it says\n`);
  // Clients start servers in a directory of their own and with a minimal environment, so only full paths always work.
  const [program, ...words] = [...EXAMPLE_SERVER.slice(0, -1), process.cwd()];
  write(`  { "command": "${program}", "args": ${list(words)} }\nwrite\n`);
  const args = [process.argv[1], "--deny", EXAMPLE_DENY, "--", program, ...words];
  write(`  { "command": ${JSON.stringify(process.execPath)}, "args": ${list(args)} }\n`);
  write("Then that server's files can be read, and neither written, edited, moved nor created.\n");
  const tools = showLine(["tools", "--", ...EXAMPLE_SERVER]);
  await print(`To see what a server offers and what hiding saves:\n  ${paint("bold", tools)}\n`);
  return code;
}

const TONE: Record<AuditEvent["verdict"], Tone> = {
  pass: "green",
  reply: "green",
  hide: "yellow",
  change: "yellow",
  edit: "yellow",
  park: "yellow",
  deny: "red",
  drop: "red",
};

function explain({ direction, verdict, rule, bytes, sent }: AuditEvent): string {
  const way = direction === "up" ? "to the server" : "to the client";
  switch (verdict) {
    case "pass":
      return `✓ passes ${way}: ${bytes} bytes, as they came`;
    case "hide":
      return `✂ hidden tools cut out: ${bytes} bytes came, ${sent} go ${way}`;
    case "change":
      return `✎ changed (${rule}): ${bytes} bytes came, ${sent} go ${way}`;
    case "edit":
      return `✂ hidden names taken out: ${bytes} bytes came, ${sent} go ${way}`;
    case "reply":
      return "✓ answered from what is known";
    case "park":
      return "… waits";
    case "deny":
      return `✗ refused (${rule}): nothing goes ${way}`;
    case "drop":
      return `✗ dropped (${rule}): nothing goes ${way}`;
  }
}

function write(text: string): void {
  void print(text); // writes stay in order, and the last one is awaited
}

function list(words: readonly string[]): string {
  return `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
}

function cut(line: string): string {
  return line.length > 150 ? `${line.slice(0, 149)}…` : line;
}
