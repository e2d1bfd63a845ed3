import { PassThrough, Writable } from "node:stream";
import type { ChildEnd, ChildServer } from "../../../src/link/child.ts";
import type { Script } from "./script.ts";
import type { Outlet, ServerEnd } from "./server-end.ts";
import type { Stage } from "./stage.ts";

/** A server that is a child process, but for the process: its pipes are in this one. */
export interface ChildServerEnd extends ServerEnd {
  /** Starts another. */
  start(): ChildServer;
}

interface Child extends Outlet {
  client: number | null;
  isOpen: boolean;
  readonly server: ChildServer;
  exit(): void;
}

/** Makes the program of which children can be started. */
export function createChildServer(stage: Stage, script: Script, hasHttpClients: boolean): ChildServerEnd {
  const children: Child[] = [];

  function start(): ChildServer {
    const stdout = new PassThrough();
    let rest = "";
    let conclude: ((end: ChildEnd) => void) | undefined;
    const ended = new Promise<ChildEnd>((resolve) => {
      conclude = resolve;
    });
    const finish = (end: ChildEnd): void => {
      if (!child.isOpen) return;
      child.isOpen = false;
      stage.pulse.beat();
      stdout.end();
      conclude?.(end);
    };
    const stdin = new Writable({
      write(chunk: Buffer, _, done) {
        stage.hear(() => {
          const lines = (rest + chunk.toString("utf8")).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) {
            // Requests without a session share a process, and have other ids there.
            const isRenamed = hasHttpClients && line.includes('"2026-07-28"');
            const { greets } = script.receive(line, child, isRenamed);
            if (greets !== null && greets !== "own") child.client = greets.client;
          }
        });
        done();
      },
      final(done) {
        finish({ code: 0, signal: null });
        done();
      },
    });
    const child: Child = {
      client: null,
      isOpen: true,
      isBare: false,
      isKept: false,
      server: {
        pid: 0,
        stdin,
        stdout,
        ended,
        complained: Promise.resolve(),
        hasCompany: false,
        measureWork: () => {
          throw new Error("nobody asks a server that is there what it does");
        },
        terminate: () => finish({ code: null, signal: "SIGTERM" }),
        kill: () => finish({ code: null, signal: "SIGKILL" }),
        release: () => {},
      },
      say(text) {
        if (child.isOpen) stdout.write(`${text}\n`);
      },
      respond: (text) => child.say(text, false),
      end: () => {},
      break: () => {},
      exit: () => finish({ code: 3, signal: null }),
    };
    children.push(child);
    return child.server;
  }

  return {
    start,
    outlets: () => children.filter(({ isOpen }) => isOpen),
    eventIds: [],
    forget(client) {
      const child = children.find((each) => each.isOpen && each.client === client);
      child?.exit();
      return child !== undefined;
    },
    die() {
      for (const child of children) child.exit();
      return true;
    },
    revive: async () => {},
    isAlive: true,
    close() {
      for (const child of children) child.server.kill();
    },
  };
}
