// What the suite starts for each client scenario: `node main.mjs <url>`. Waits for its turn, puts the proxy between
// itself and the scenario's server where it is told to, and becomes the client.
import { startProxy } from "../runner/processes.mjs";
import { takeTurn } from "../runner/turns.mjs";

const name = process.env.MCP_CONFORMANCE_SCENARIO;
const via = JSON.parse(process.env.FAIRLEAD_CONFORMANCE_VIA ?? "null");

await takeTurn(name);
// Only now: the SDK is most of what a client costs, and the others are still at it.
const { scenarios } = await import("./scenarios.mjs");
const scenario = scenarios.get(name);
if (scenario === undefined) {
  console.error(`There is no client for the scenario "${name}".`);
  process.exit(1);
}

const server = process.argv[2];
const proxy = via === null ? null : await startProxy(via, server);
if (proxy !== null) process.on("exit", proxy.stop);
try {
  await scenario(new URL(proxy === null ? server : proxy.url));
  process.exit(0);
} catch (error) {
  // Some scenarios want a client that gives up. The suite looks at what its server heard.
  console.error(error);
  if (proxy !== null) console.error(`The proxy said:\n${proxy.said()}`);
  process.exit(1);
}
