import { setTimeout as sleep } from "node:timers/promises";
import type { ChainServices } from "../rules/chain/services.ts";
import type { ActionOf } from "../rules/rule.ts";
import { createScriptRunner, type ScriptRunner } from "../link/script.ts";
import { createWebhook, type Webhook } from "../link/webhook.ts";
import { createHoldBook, type HoldBook } from "../store/holds.ts";
import type { Log } from "../record/log/log.ts";
import type { Reporter } from "../record/log/report.ts";
import type { Witness } from "../record/witness.ts";
import type { Fork } from "./fork.ts";

/** The webhooks, scripts and copies that the chain uses, and how to end them. */
export interface World {
  readonly services: ChainServices;
  /** The messages that are held for a person's decision. */
  readonly holds: HoldBook;
  /** Prepares the webhooks of a policy, so that one that cannot be used is reported now and not later. */
  prepare(webhooks: readonly ActionOf<"webhook">[]): void;
  /** Gives queued webhook requests a moment to be sent, and ends everything that runs. */
  close(): Promise<void>;
  /** Ends everything that runs, without waiting. */
  destroy(): void;
}

/** Options of `createWorld`. */
export interface WorldOptions {
  readonly log: Log;
  readonly reporter: Reporter;
  readonly witness: Witness;
  /** The folder of the policy. Paths of scripts are relative to it. */
  readonly folder: string;
  readonly fork: Fork;
  readonly now: () => number;
}

const FLUSH_MS = 1000;

/** The part of our environment that scripts get: what programs need to run, without secrets for other programs. */
function plainEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PLAIN.test(name)));
}

const PLAIN =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|SystemRoot|windir|ComSpec|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA|ProgramData|FAIRLEAD_SCRIPT_\w+)$/i;

/** Makes the webhooks, scripts and copies for a chain. */
export function createWorld({ log, reporter, witness, folder, fork, now }: WorldOptions): World {
  const webhooks = new Map<string, Webhook>();
  let scripts: ScriptRunner | null = null;

  const holds = createHoldBook({
    now: Date.now,
    onTrouble: (error) => reporter.report("hold", `a listener for held messages failed: ${String(error)}`),
  });

  holds.listen({ held: (held) => witness.held(held), released: (held, end) => witness.released(held, end) });

  const onTrouble = (text: string): void => reporter.report("webhook", text);

  /** Rules with equal settings share one webhook. */
  function webhookOf({ url, timeoutMs, secret, allowPrivate }: ActionOf<"webhook">): Webhook {
    const key = JSON.stringify([url, timeoutMs, secret, allowPrivate]);
    const known = webhooks.get(key);
    if (known !== undefined) return known;
    const made = createWebhook({ url, timeoutMs, secret, allowPrivate, onTrouble });
    webhooks.set(key, made);
    return made;
  }

  function runner(): ScriptRunner {
    scripts ??= createScriptRunner({
      cwd: folder,
      env: plainEnvironment(process.env),
      onComplaint: (path, text) => reporter.report("script", text, { level: "info", fields: { script: path } }),
      onTrouble: (text) => log.warn(text),
    });
    return scripts;
  }

  return {
    services: {
      report: (level, rule, text, fields = {}) => reporter.report(rule, text, { level, fields }),
      count: (name, labels) => witness.count(name, labels),
      metric: (name, value) => witness.count("metric", { name }, value),
      tell: (action, body) => void webhookOf(action).tell(body),
      ask: (action, body, signal) =>
        action.does === "webhook" ? webhookOf(action).ask(body, signal) : runner().run(action, body, signal),
      fork,
      hold: holds.hold,
      sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }),
      now,
    },
    holds,
    prepare(actions) {
      for (const action of actions) webhookOf(action);
    },
    async close() {
      holds.close();
      await Promise.all(Array.from(webhooks.values(), (each) => each.flush(FLUSH_MS)));
      for (const each of webhooks.values()) each.close();
      scripts?.close();
    },
    destroy() {
      holds.close();
      for (const each of webhooks.values()) each.close();
      scripts?.close();
    },
  };
}
