import { once } from "node:events";
import { connect, createServer } from "node:net";

// Scenarios that measure time, to within less than a busy machine is late.
const ALONE = new Set(["sse-retry"]);

/**
 * Lets clients have their turns, so many at a time. The suite starts all of them at once, and dozens of programs
 * that start together are all too late. Whoever ends gives up the turn, however it ends.
 */
export async function createTurns(limit) {
  const waiting = [];
  let running = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (name) => {
      const places = ALONE.has(String(name)) ? limit : 1;
      waiting.push({ socket, places });
      socket.once("close", () => {
        if (waiting.some((one) => one.socket === socket)) return;
        running -= places;
        next();
      });
      next();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, close: () => server.close() };

  // Those that need all the places come last, when places are no longer asked for.
  function next() {
    waiting.sort((one, other) => one.places - other.places);
    while (waiting.length > 0 && running + waiting[0].places <= limit) {
      const { socket, places } = waiting.shift();
      running += places;
      socket.write("go");
    }
  }
}

/** Waits for our turn, which lasts until this process ends. Without a runner there is nothing to wait for. */
export async function takeTurn(name) {
  const port = process.env.FAIRLEAD_CONFORMANCE_TURNS;
  if (port === undefined) return;
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(name);
  await once(socket, "data");
  socket.unref();
}
