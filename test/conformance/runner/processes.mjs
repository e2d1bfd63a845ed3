import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const SERVER = join(import.meta.dirname, "..", "server", "server.mjs");

/** How long a program may take until it can be reached. */
const START_MS = 20_000;

/** Starts the conformance server on any port. */
export async function startServer() {
  const child = start(process.execPath, [SERVER], { PORT: "0" });
  const lines = createInterface(child.process.stdout);
  const [url] = await Promise.race([once(lines, "line"), child.ended.then(() => [])]);
  if (url === undefined) throw new Error(`The conformance server did not start:\n${child.said()}`);
  return { url, stop: child.stop, said: child.said };
}

/** Starts the proxy in front of a server. It is there once its port can be reached, whatever it says. */
export async function startProxy([program, ...args], upstream) {
  const port = await freePort();
  const child = start(program, [...args, "--upstream", upstream, "--listen", `127.0.0.1:${port}`]);
  const deadline = Date.now() + START_MS;
  while (!(await answers(port))) {
    if (child.process.exitCode !== null || child.process.signalCode !== null || Date.now() > deadline) {
      child.stop();
      throw new Error(`The proxy did not start:\n${child.said()}`);
    }
    await sleep(20);
  }
  return { url: `http://127.0.0.1:${port}/mcp`, stop: child.stop, said: child.said };
}

function start(program, args, env = {}) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  child.on("error", (error) => {
    said += error.message;
  });
  return {
    process: child,
    ended: new Promise((resolve) => {
      child.once("close", resolve);
    }),
    said: () => said,
    // At once: how a proxy ends in good order is tested elsewhere.
    stop: () => child.kill("SIGKILL"),
  };
}

// Many of us look for a port at the same moment. Each begins at a place of its own, below the ports that the
// system gives to those who do not care.
async function freePort() {
  for (let step = process.pid; ; step += 97) {
    const port = 10_000 + (step % 20_000);
    const server = createServer();
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
      await once(server.close(), "close");
      return port;
    } catch (error) {
      if (error.code !== "EADDRINUSE") throw error;
    }
  }
}

async function answers(port) {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
