// The responses of the servers behind every measurement.

/** The result for a request, chosen by the text before its id: a string, or the bytes of a large result. */
exports.answer = function answer(request, notifications) {
  if (request.startsWith('{"method":"tools/list"')) return TOOLS;
  if (request.startsWith('{"method":"tools/call","params":{"name":"count"')) {
    return `{"content":[{"type":"text","text":"${notifications}"}]}`;
  }
  if (request.startsWith('{"method":"initialize"')) return INITIALIZED;
  const wanted = /"size":(\d+),"shape":"(\w+)"/.exec(request);
  return wanted === null ? HELLO : body(Number(wanted[1]), wanted[2]);
};

/** Rewrites a request in our own spelling, for clients that write the id or the arguments in other places. */
exports.respell = function respell(text) {
  const { method, params, id } = JSON.parse(text);
  const request = JSON.stringify({ method, ...(params === undefined ? {} : { params }), jsonrpc: "2.0" });
  return { request, id: JSON.stringify(id) };
};

const INITIALIZED =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.0.0"}}';
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

// Made once and kept, because making them must not be measured.
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
  // Prose in one string, without anything to escape.
  string: (size) => content(fill("The quick brown fox jumps over the lazy dog. ", size)),
  // JSON in a string, as some tools return it: an escape every few bytes.
  escaped: (size) => content(fill('{"a":"line\\n","b":"c\\td"}\n', size)),
  // Lines of text, as tools that read files return them.
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

/** A text repeated until its JSON has the requested size, minus the result around it. */
function fill(text, size) {
  const bytes = Buffer.byteLength(JSON.stringify(text)) - 2;
  return text.repeat(Math.max(1, Math.floor((size - 40) / bytes)));
}
