// The server behind every measurement. It answers each request once and counts notifications.
// Light, so that what stands in front of it shows: it reads no more of a line than it needs, and
// relies on the driver writing as the SDKs do, with the id at the end. With --parse it does on top
// what most servers do, and parses every line.
const LF = 0x0a;
const PARSES = process.argv.includes("--parse");
const { stdin, stdout } = process;
let held = null;
let notifications = 0;

stdin.on("data", (chunk) => {
  const bytes = held === null ? chunk : Buffer.concat([held, chunk]);
  let start = 0;
  let answers = "";
  for (;;) {
    const end = bytes.indexOf(LF, start);
    if (end < 0) break;
    if (PARSES) JSON.parse(bytes.utf8Slice(start, end));
    const idStart = startOfId(bytes, end - 1);
    if (idStart < 0) notifications++;
    else {
      const id = bytes.latin1Slice(idStart, end - 1);
      const result = answer(bytes.latin1Slice(start, idStart));
      if (typeof result === "string") answers += `{"result":${result},"jsonrpc":"2.0","id":${id}}\n`;
      else {
        stdout.cork();
        stdout.write(`${answers}{"result":`);
        stdout.write(result);
        stdout.write(`,"jsonrpc":"2.0","id":${id}}\n`);
        stdout.uncork();
        answers = "";
      }
    }
    start = end + 1;
  }
  held = start === bytes.length ? null : bytes.subarray(start);
  if (answers !== "") stdout.write(answers, "latin1");
});

/** Where the digits of `"id":7}` begin, given the place of the brace; -1 where there are none. */
function startOfId(bytes, brace) {
  let at = brace;
  while (bytes[at - 1] >= 0x30 && bytes[at - 1] <= 0x39) at--;
  const isId = at < brace && bytes[at - 1] === 0x3a && bytes[at - 3] === 0x64 && bytes[at - 4] === 0x69;
  return isId ? at : -1;
}

/** The result a request gets: text, or for a large one the bytes of it. */
function answer(request) {
  if (request.startsWith('{"method":"tools/list"')) return TOOLS;
  if (request.startsWith('{"method":"tools/call","params":{"name":"count"')) {
    return `{"content":[{"type":"text","text":"${notifications}"}]}`;
  }
  const wanted = /"size":(\d+),"shape":"(\w+)"/.exec(request);
  return wanted === null ? HELLO : body(Number(wanted[1]), wanted[2]);
}

const HELLO = '{"content":[{"type":"text","text":"hello"}]}';

const TOOLS = JSON.stringify({
  tools: ["echo", "count", ...Array.from({ length: 22 }, (_, at) => `${at % 3 === 0 ? "file" : "text"}_${at}`)].map(
    (name) => ({
      name,
      description: `What the tool ${name} does, and when a model should use it.`,
      inputSchema: {
        type: "object",
        properties: { message: { type: "string", description: "What to say" }, size: { type: "integer" } },
        required: ["message"],
      },
    }),
  ),
});

// Made once and kept: making them is no part of what is measured.
const bodies = new Map();

function body(size, shape) {
  const key = `${size} ${shape}`;
  let made = bodies.get(key);
  if (made === undefined) {
    const text = SHAPES[shape](size);
    made = text.length < 65_536 && shape !== "unicode" ? text : Buffer.from(text);
    bodies.set(key, made);
  }
  return made;
}

const SHAPES = {
  // Prose without anything to escape, in one string.
  string: (size) => content(fill("The quick brown fox jumps over the lazy dog. ", size)),
  // JSON in a string, as tools that return JSON as text do: an escape every few bytes.
  escaped: (size) => content(fill('{"a":"line\\n","b":"c\\td"}\n', size)),
  // Lines of text, as tools that read files do.
  lines: (size) => content(fill("The quick brown fox jumps over the lazy dog, and runs.\n", size)),
  // Characters of two and three bytes.
  unicode: (size) => content(fill("Größe – “naïve” façade, 東京 und Zürich. ", size)),
  // A table of small objects.
  rows: (size) => {
    const rows = [];
    for (let bytes = 45; bytes < size;) {
      const at = rows.length;
      const row = { id: at, name: `user ${at}`, email: `u${at}@example.com`, active: at % 2 === 0, score: at * 1.5 };
      const text = JSON.stringify({ ...row, tags: ["a", "b"] });
      rows.push(text);
      bytes += text.length + 1;
    }
    return `{"content":[],"structuredContent":{"rows":[${rows.join(",")}]}}`;
  },
};

function content(text) {
  return JSON.stringify({ content: [{ type: "text", text }] });
}

/** A text repeated until its JSON is as large as wanted, less the result around it. */
function fill(text, size) {
  const bytes = Buffer.byteLength(JSON.stringify(text)) - 2;
  return text.repeat(Math.max(1, Math.floor((size - 40) / bytes)));
}
