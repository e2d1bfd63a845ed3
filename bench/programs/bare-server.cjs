// The minimal server in Node: it answers by itself. It shows how long bare Node takes to start.
//   node bare-server.cjs <port>
const http = require("node:http");

http
  .createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    let message = "";
    request.on("data", (text) => (message += text));
    request.on("end", () => {
      const id = /"id":(\d+)\}$/.exec(message)?.[1];
      if (id === undefined) return response.writeHead(202).end();
      const answer = `{"result":{"tools":[]},"jsonrpc":"2.0","id":${id}}`;
      const headers = { "Content-Type": "application/json", "Mcp-Session-Id": "one", "Content-Length": answer.length };
      response.writeHead(200, headers).end(answer);
    });
  })
  .listen(Number(process.argv[2]), "127.0.0.1");
