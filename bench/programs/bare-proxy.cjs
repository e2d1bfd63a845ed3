// The minimal reverse proxy in Node: it forwards requests and responses without reading them.
//   node bare-proxy.cjs <port> <port of the server>
const http = require("node:http");

const [listen, port] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true });

http
  .createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { method, url, headers } = request;
    const onward = http.request({ host: "127.0.0.1", port, method, path: url, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  })
  .listen(listen, "127.0.0.1");
