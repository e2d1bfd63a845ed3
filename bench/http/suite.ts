import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Ground, Suite } from "../suite.ts";
import { composeCommands, describePeers, PEERS } from "./commands.ts";
import { growth } from "./measures/growth.ts";
import { large } from "./measures/large.ts";
import { latency } from "./measures/latency.ts";
import { load } from "./measures/load.ts";
import { memory } from "./measures/memory.ts";
import { sessions } from "./measures/sessions.ts";
import { start } from "./measures/start.ts";
import { toHttp } from "./measures/to-http.ts";
import { toStdio } from "./measures/to-stdio.ts";
import { ROWS } from "./rows.ts";
import { findPort, startServer } from "./server.ts";
import { createHttpStage, type HttpStage } from "./stage.ts";

const TITLES: Readonly<Record<string, string>> = {
  direct: "direct",
  nginx: "nginx",
  bare: "bare Node",
  fairlead: "Fairlead",
  other: "other build",
  ...Object.fromEntries(PEERS.map((name) => [name, name])),
};

/** The suite for HTTP on one side or both. */
export const HTTP: Suite<HttpStage> = {
  command: "npm run bench -- http",
  about:
    "Measures Fairlead over HTTP next to the bare server, nginx, bare proxies and bridges in Node, and those of others.",
  measures: [load, latency, large, toStdio, toHttp, start, memory, sessions, growth],
  rows: ROWS,
  wording: {
    columns: [
      ...["direct", "nginx", "bare"].map((variant) => ({ title: TITLES[variant], variant: () => variant })),
      {
        title: "npm peer",
        variant: ({ compare }) => ("against" in compare && isPeer(compare.against) ? compare.against : null),
      },
    ],
    titles: TITLES,
  },
  marker: "bench:http",
  async prepare(ground) {
    const origin = await startOrigin(ground);
    const nginx = findProgram("nginx");
    const commands = composeCommands(ground, origin, nginx);
    return {
      set: (variants, random) => createHttpStage({ variants, commands, origin, place: ground.place, random }),
      remarks: [nginx === null ? "nginx is not installed" : describeNginx(nginx), describePeers(ground.root)],
    };
  },
};

function isPeer(variant: string): boolean {
  return PEERS.some((name) => name === variant);
}

/** Starts the HTTP server behind all variants, once for the whole run. */
async function startOrigin({ root, parsing, place }: Ground): Promise<number> {
  const port = await findPort();
  const program = join(root, "bench", "programs", "http-echo.cjs");
  await startServer([process.execPath, program, String(port), ...(parsing ? ["--parse"] : [])], port, place);
  return port;
}

function findProgram(name: string): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? null;
}

function describeNginx(nginx: string): string {
  const { stderr } = spawnSync(nginx, ["-v"], { encoding: "utf8" });
  return /nginx\/[\d.]+/.exec(stderr)?.[0].replace("/", " ") ?? "nginx";
}
