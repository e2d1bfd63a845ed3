import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readVerdicts } from "./verdicts.mjs";

const here = join(import.meta.dirname, "..");
const CLIENT = join(here, "client", "main.mjs");

// A client may have to wait for its turn, and that counts.
const CLIENT_TIMEOUT_MS = 300_000;

/** What is run: a suite of a version of the conformance package, against a server or a client. */
export const suites = [
  { name: "server 0.1", side: "server", version: "0.1", all: ["--suite", "all"], one: [] },
  { name: "server 2025-11-25", side: "server", version: "0.2", ...revision("2025-11-25") },
  { name: "server 2026-07-28", side: "server", version: "0.2", ...revision("2026-07-28") },
  { name: "client 2025-11-25", side: "client", version: "0.2", ...revision("2025-11-25") },
  { name: "client 2026-07-28", side: "client", version: "0.2", ...revision("2026-07-28") },
];

function revision(name) {
  return { all: ["--requirements", name], one: ["--spec-version", name, "--force"] };
}

/** Runs a suite, or one scenario of it, against a server's address. Resolves to the verdict on each scenario. */
export function runServerSuite(node, suite, { url, ...options }) {
  return run(node, suite, options, ["--url", url], {});
}

/** Runs a client suite, or one scenario of it, with our client; `via` is the proxy's command, or null. */
export function runClientSuite(node, suite, { via, turns, ...options }) {
  // The suite hands this to a shell.
  const command = `${quote(node)} ${quote(CLIENT)}`;
  return run(node, suite, options, ["--command", command, "--timeout", String(CLIENT_TIMEOUT_MS)], {
    FAIRLEAD_CONFORMANCE_VIA: JSON.stringify(via),
    ...(turns && { FAIRLEAD_CONFORMANCE_TURNS: String(turns.port) }),
  });
}

async function run(node, { side, version, all, one }, { scenario, verbose }, args, env) {
  const results = mkdtempSync(join(tmpdir(), "fairlead-conformance-"));
  try {
    const program = join(here, "node_modules", `conformance-${version}`, "dist", "index.js");
    const what = scenario === undefined ? all : ["--scenario", scenario, ...one];
    const child = spawn(node, [program, side, ...what, ...args, "--output-dir", results], {
      // Ours may be read by a program, and what the suite says is for people.
      stdio: ["ignore", verbose ? 2 : "ignore", verbose ? 2 : "ignore"],
      env: { ...process.env, ...env },
    });
    // Its exit code says whether all checks passed. We look at each of them.
    await once(child, "close");
    return readVerdicts(results, side);
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

function quote(path) {
  return path.includes(" ") ? `"${path}"` : path;
}
