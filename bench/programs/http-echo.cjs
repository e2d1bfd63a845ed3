// The same server over Streamable HTTP, with JSON responses: the server behind every measurement of HTTP.
//   node http-echo.cjs <port> [--parse]
// It is fast, so that the cost of what is in front of it shows: it uses the socket directly, finds the length of a body
// and the id at its end, and reads no more. It checks that a session id is present, but keeps no sessions.
const net = require("node:net");
const { answer, respell } = require("./answers.cjs");

const PARSES = process.argv.includes("--parse");
let sessions = 0;

net
  .createServer({ noDelay: true }, (socket) => {
    let held = null;
    socket.on("data", (chunk) => {
      let bytes = held === null ? chunk : Buffer.concat([held, chunk]);
      held = null;
      while (bytes.length > 0) {
        const taken = takeRequest(socket, bytes);
        if (taken === 0) {
          held = bytes;
          return;
        }
        bytes = bytes.subarray(taken);
      }
    });
    socket.on("error", () => {});
  })
  .listen(Number(process.argv[2]), "127.0.0.1", 4096);

/** Answers the first request in these bytes. Returns how many bytes it used; none if the request is incomplete. */
function takeRequest(socket, bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return 0;
  const head = bytes.latin1Slice(0, end);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const begin = end + 4;
  if (bytes.length < begin + length) return 0;
  if (/\r\ntransfer-encoding:/i.test(head)) return refuse(socket, "411 Length Required", bytes.length);
  const hasSession = /\r\nmcp-session-id: *\S/i.test(head);
  // Clients that look for OAuth metadata must be told that there is none.
  if (!head.startsWith("/mcp ", head.indexOf(" ") + 1)) return refuse(socket, "404 Not Found", begin + length);
  if (head.startsWith("POST")) takeMessage(socket, bytes.latin1Slice(begin, begin + length), hasSession);
  else if (head.startsWith("GET")) socket.write(STREAM);
  else socket.write(EMPTY);
  return begin + length;
}

function takeMessage(socket, text, hasSession) {
  if (PARSES) JSON.parse(text);
  const { request, id } = readMessage(text);
  const isFirst = request.startsWith('{"method":"initialize"');
  if (!isFirst && !hasSession) return refuse(socket, "400 Bad Request", 0);
  if (id === undefined) return socket.write(ACCEPTED);
  const result = answer(request, 0);
  const rest = `,"jsonrpc":"2.0","id":${id}}`;
  const session = isFirst ? `Mcp-Session-Id: 5e55-${++sessions}\r\n` : "";
  const head = `${OK}${session}Content-Length: ${10 + result.length + rest.length}\r\n\r\n{"result":`;
  if (typeof result === "string") return socket.write(head + result + rest, "latin1");
  socket.cork();
  socket.write(head, "latin1");
  socket.write(result);
  socket.write(rest, "latin1");
  socket.uncork();
}

/** The method of a request and its id; a notification has no id. */
function readMessage(text) {
  if (!text.startsWith('{"method"')) return respell(text); // some bridges write the id first
  const id = /"id":(\d+)\}$/.exec(text.slice(-24));
  return { request: text, id: id?.[1] };
}

function refuse(socket, status, taken) {
  socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
  return taken;
}

const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const ACCEPTED = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
const EMPTY = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const STREAM =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
