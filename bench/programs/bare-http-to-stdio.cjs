// The minimal bridge from HTTP to stdio: one child process, and each response goes to the request with its id.
//   node bare-http-to-stdio.cjs <port> <command> [args…]
const http = require("node:http");
const { spawn } = require("node:child_process");

const [listen, program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let rest = "";

http
  .createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    let message = "";
    request.setEncoding("latin1");
    request.on("data", (text) => (message += text));
    request.on("end", () => {
      const id = /"id":(\d+)\}$/.exec(message)?.[1];
      if (id === undefined) response.writeHead(202).end();
      else waiting.set(id, response);
      child.stdin.write(`${message}\n`, "latin1");
    });
  })
  .listen(Number(listen), "127.0.0.1");

child.stdout.setEncoding("latin1");
child.stdout.on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const id = /"id":(\d+)\}$/.exec(line)[1];
    const headers = { "Content-Type": "application/json", "Mcp-Session-Id": "one", "Content-Length": line.length };
    waiting.get(id).writeHead(200, headers).end(line, "latin1");
    waiting.delete(id);
  }
});
