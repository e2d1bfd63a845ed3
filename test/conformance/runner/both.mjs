import { availableParallelism } from "node:os";
import { startProxy, startServer } from "./processes.mjs";
import { runClientSuite, runServerSuite } from "./suites.mjs";
import { createTurns } from "./turns.mjs";

/**
 * Runs suites directly and through the proxy. Resolves to one row per suite: `{ suite, direct, through }`, each a
 * map of verdicts. Without a proxy (`via` is null) both are the same.
 */
export async function runBothWays(node, suites, via, options) {
  const servers = suites.filter(({ side }) => side === "server");
  const clients = suites.filter(({ side }) => side === "client");
  // Servers mostly wait and clients mostly work: together they take little longer than the clients alone.
  const rows = await Promise.all([runServers(node, servers, via, options), runClients(node, clients, via, options)]);
  return rows.flat();
}

// Those that go through the proxy have a server of their own: changes are published to all who listen.
async function runServers(node, suites, via, options) {
  if (suites.length === 0) return [];
  const started = [];
  try {
    const server = await begin(startServer());
    const behind = via === null ? null : await begin(startServer());
    const proxy = via === null ? null : await begin(startProxy(via, behind.url));
    return await Promise.all(
      suites.map(async (suite) => {
        const [direct, through] = await Promise.all([
          runServerSuite(node, suite, { url: server.url, ...options }),
          proxy && runServerSuite(node, suite, { url: proxy.url, ...options }),
        ]);
        return { suite, direct, through: through ?? direct };
      }),
    );
  } finally {
    for (const { stop } of started) stop();
  }

  async function begin(starting) {
    const one = await starting;
    started.push(one);
    return one;
  }
}

// The client suites start a program per scenario, all at once. One suite after the other, and so many programs at
// a time as the machine can run.
async function runClients(node, suites, via, options) {
  if (suites.length === 0) return [];
  const turns = await createTurns(availableParallelism() + 1);
  const rows = [];
  try {
    for (const suite of suites) {
      const direct = await runClientSuite(node, suite, { via: null, turns, ...options });
      const through = via === null ? direct : await runClientSuite(node, suite, { via, turns, ...options });
      rows.push({ suite, direct, through });
    }
    return rows;
  } finally {
    turns.close();
  }
}
