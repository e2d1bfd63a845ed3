// The server behind every measurement. It answers each request once and counts notifications.
// It is fast, so that the cost of what is in front of it shows: it reads no more of a line than it needs, and expects
// messages as the SDKs write them, with the method first and the id last. With --parse it also parses every line, as
// most servers do.
const { answer, respell } = require("./answers.cjs");

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
    const { request, id } = readLine(bytes, start, end);
    if (id === undefined) notifications++;
    else {
      const result = answer(request, notifications);
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

/** The method of a request and its id; a notification has no id. */
function readLine(bytes, start, end) {
  if (bytes[start + 2] !== LETTER_M) return respell(bytes.utf8Slice(start, end)); // some bridges write the id first
  const idStart = startOfId(bytes, end - 1);
  return idStart < 0
    ? NOTIFICATION
    : { request: bytes.latin1Slice(start, idStart), id: bytes.latin1Slice(idStart, end - 1) };
}

const LETTER_M = 0x6d;
const NOTIFICATION = { request: "", id: undefined };

/** The index of the first digit in `"id":7}`, given the index of the brace; -1 if there is no id. */
function startOfId(bytes, brace) {
  let at = brace;
  while (bytes[at - 1] >= 0x30 && bytes[at - 1] <= 0x39) at--;
  const isId = at < brace && bytes[at - 1] === 0x3a && bytes[at - 3] === 0x64 && bytes[at - 4] === 0x69;
  return isId ? at : -1;
}
