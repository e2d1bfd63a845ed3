// The minimal bridge from stdio to HTTP: a POST for each line, and the responses in the order of arrival.
//   node bare-stdio-to-http.cjs <url>
const http = require("node:http");

const url = new URL(process.argv[2]);
const agent = new http.Agent({ keepAlive: true });
const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
let rest = "";

process.stdin.setEncoding("latin1");
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) post(line);
});

function post(line) {
  const all = { ...headers, "Content-Length": line.length };
  const request = http.request(url, { method: "POST", agent, headers: all }, (response) => {
    const session = response.headers["mcp-session-id"];
    if (session !== undefined) headers["Mcp-Session-Id"] = session;
    let answer = "";
    response.setEncoding("latin1");
    response.on("data", (text) => (answer += text));
    response.on("end", () => answer !== "" && process.stdout.write(`${answer}\n`, "latin1"));
  });
  request.end(line, "latin1");
}
