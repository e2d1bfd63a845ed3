import fc from "fast-check";
import { expect, test } from "vitest";
import { createResponseReader, type ResponseReader } from "../../src/wire/http-response.ts";

/** What a listener hears. */
function listen(reader: ResponseReader, method = "POST"): string[] {
  const heard: string[] = [];
  reader.expect(
    {
      head: ({ status, headers }) => heard.push(`head ${status} ${headers.join(" ")}`.trim()),
      body: (bytes) => heard.push(`body ${bytes.toString("latin1")}`),
      done: (reusable) => heard.push(reusable ? "done, reusable" : "done"),
      fault: (reason) => heard.push(`fault: ${reason}`),
    },
    method,
  );
  return heard;
}

/** Reads one response that arrives in these chunks; the connection ends after them where `ends` says so. */
function read(chunks: readonly string[], { method = "POST", ends = false } = {}): string[] {
  const reader = createResponseReader();
  const heard = listen(reader, method);
  for (const chunk of chunks) reader.push(Buffer.from(chunk, "latin1"));
  if (ends) reader.end();
  return heard;
}

test("a body is as long as its head says", () => {
  expect(read(["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"])).toEqual([
    "head 200 Content-Length 3",
    "body abc",
    "done, reusable",
  ]);
  expect(read(["HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"]).at(-1)).toBe("done, reusable");
});

test("a body in chunks is the chunks, without what is said about them", () => {
  const chunks = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  expect(read([`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`])).toEqual([
    "head 200 Transfer-Encoding chunked",
    "body abc",
    "body 0123456789",
    "done, reusable",
  ]);
});

test("a body without a length goes on until the connection ends", () => {
  expect(read(["HTTP/1.1 200 OK\r\n\r\nabc", "def"], { ends: true }).slice(1)).toEqual([
    "body abc",
    "body def",
    "done",
  ]);
});

test.each([
  ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"],
  ["GET", "HTTP/1.1 204 No Content\r\n\r\n"],
  ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"],
])("%s: no body belongs to %j", (method, text) => {
  expect(read([text], { method }).at(-1)).toBe("done, reusable");
});

test("interim responses are passed over, and a switch of protocols is refused", () => {
  const real = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  expect(read([`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${real}`])).toEqual([
    "head 200 Content-Length 0",
    "done, reusable",
  ]);
  expect(read(["HTTP/1.1 101 Switching Protocols\r\n\r\n"])).toEqual(["fault: the protocol was switched"]);
});

test.each([
  ["Connection: close", "done"],
  ["connection: Keep-Alive, close", "done"],
  ["Connection: keep-alive", "done, reusable"],
])("%s: %s", (header, end) => {
  expect(read([`HTTP/1.1 200 OK\r\n${header}\r\nContent-Length: 0\r\n\r\n`]).at(-1)).toBe(end);
});

test("HTTP/1.0 ends its connections, and chunks do not belong to it", () => {
  expect(read(["HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"]).at(-1)).toBe("done");
  const kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n";
  expect(read([`${kept}Content-Length: 0\r\n\r\n`]).at(-1)).toBe("done, reusable");
  expect(read([`${kept}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`]).at(-1)).toBe("done");
});

test.each([
  ["two lengths", "Content-Length: 3\r\nContent-Length: 4"],
  ["a list of lengths", "Content-Length: 3, 3"],
  ["a length with a sign", "Content-Length: +3"],
  ["a negative length", "Content-Length: -3"],
  ["a length in hexadecimal", "Content-Length: 0x3"],
  ["a length that is none", "Content-Length: "],
  ["a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked"],
  ["chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 3"],
  ["chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"],
  ["another encoding", "Transfer-Encoding: gzip, chunked"],
  ["an encoding that is none", "Transfer-Encoding: xchunked"],
])("%s: nobody can say where the body ends", (_, headers) => {
  expect(read([`HTTP/1.1 200 OK\r\n${headers}\r\n\r\nabc`])).toEqual(["fault: its length is ambiguous"]);
});

test.each([
  ["a space before the colon", "Content-Length : 3"],
  ["a folded line", "X: a\r\n b"],
  ["no name", ": x"],
  ["no colon", "X"],
  ["a NUL", "X: a\0b"],
  ["a bare LF", "X: a\nContent-Length: 3"],
  ["a bare CR", "X: a\rContent-Length: 3"],
  ["a line that is empty", "\r\nX: a"],
])("a head with %s is refused", (name, headers) => {
  const heard = read([`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`], { ends: true });
  // An empty line ends the head: what follows is its body, until the connection ends.
  if (name === "a line that is empty") expect(heard).toEqual(["head 200", "body X: a\r\n\r\n", "done"]);
  else expect(heard).toEqual(["fault: malformed header"]);
});

test.each([
  "HTTP/2 200 OK",
  "HTTP/1.2 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "HTTP/1.1 099 OK",
  "HTTP/1.1  200 OK",
  "HTTP/1.1\t200 OK",
  "ICY 200 OK",
  "{}",
  " HTTP/1.1 200 OK",
])("%j is no status line", (line) => {
  expect(read([`${line}\r\n\r\n`])).toEqual(["fault: no status line"]);
});

test("a head that ends its lines with LF alone is not waited for", () => {
  expect(read(["HTTP/1.1 200 OK\nContent-Length: 0\n\n"])).toEqual(["fault: a line ends without CR"]);
  expect(read(["HTTP/1.1 200 OK\nContent-Length: 0\n", "\n"])).toEqual(["fault: a line ends without CR"]);
});

test("a head has a limit, wherever it is cut", () => {
  const large = `HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}\r\n\r\n`;
  expect(read([large])).toEqual(["fault: the head is too large"]);
  expect(read(large.match(/.{1,9000}/gs) ?? [])).toEqual(["fault: the head is too large"]);
});

test.each([
  ["no length", "x\r\nabc\r\n"],
  ["a length with a sign", "+3\r\nabc\r\n"],
  ["a length that overflows", "ffffffffffffffff\r\nabc\r\n"],
  ["LF alone after the length", "3\nabc\r\n"],
  ["LF alone after the data", "3\r\nabc\n"],
  ["more data than its length", "3\r\nabcd\r\n"],
  ["an endless extension", `3;${"x".repeat(2000)}`],
  ["a CR in its extension", "3;a\rb\r\nabc\r\n"],
  ["an endless trailer", `0\r\n${"X: y\r\n".repeat(5000)}`],
])("a chunk with %s is refused", (_, chunk) => {
  const heard = read([`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`]);
  expect(heard.at(-1)).toMatch(/^fault: /);
});

test("a connection that closes too early is a fault", () => {
  for (const text of [
    "",
    "HTTP/1.1 200",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
  ])
    expect(read([text], { ends: true }).at(-1), text).toBe("fault: the connection closed");
});

test.each([
  ["a body", "Content-Length: 3\r\n\r\nabc"],
  ["no body", "Content-Length: 0\r\n\r\n"],
  ["chunks", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"],
])("what follows a response with %s ends the connection: it would be the next one's answer", (_, rest) => {
  const planted = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted";
  const reader = createResponseReader();
  const heard: string[] = [];
  let next: string[] | null = null;
  reader.expect(
    {
      head: () => {},
      body: () => {},
      // The next request may go out in this very moment.
      done(reusable) {
        heard.push(`done ${reusable}`);
        next = listen(reader);
      },
      fault: (reason) => heard.push(reason),
    },
    "POST",
  );
  reader.push(Buffer.from(`HTTP/1.1 200 OK\r\n${rest}${planted}`));
  expect(heard).toEqual(["done false"]);
  expect(next).toEqual(["fault: the connection closed"]);
});

function bodyOf(heard: readonly string[]): string {
  return heard.filter((line) => line.startsWith("body ")).reduce((all, line) => all + line.slice(5), "");
}

test("where a response is cut changes nothing", () => {
  const text =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n" +
    "5\r\nhello\r\n6;e\r\n world\r\n0\r\nT: x\r\n\r\n";
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 20 }), (cuts) => {
      const places = [...new Set(cuts)].sort((one, other) => one - other);
      const chunks = [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
      const heard = read(chunks.filter((chunk) => chunk !== ""));
      expect(heard[0]).toBe("head 200 Transfer-Encoding chunked X y");
      expect(bodyOf(heard)).toBe("hello world");
      expect(heard.at(-1)).toBe("done, reusable");
    }),
  );
});
