import { performance } from "node:perf_hooks";
import { describeJudged, describeLost } from "../record/audit-event.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Happening, Observer, Who } from "../record/observers.ts";

/**
 * Something that a program is told while its proxy runs. A message is described as in the audit log, so arguments and results
 * are not in it. There may be others later: pass over what you do not know.
 */
export type ProxyHappening =
  /** A session of a client was opened, its handshake is over (`introduced`), or it was closed. */
  | { readonly at: "session"; readonly state: "opened" | "introduced" | "closed"; readonly who: Who }
  /** What became of a message. */
  | { readonly at: "judged"; readonly event: AuditEvent }
  /** A message that was too large to keep. */
  | { readonly at: "lost"; readonly event: AuditEvent }
  /** Something that is wrong, but with no single message: as in the log. */
  | { readonly at: "trouble"; readonly rule: string; readonly text: string }
  /** Something beside messages was counted. */
  | {
      readonly at: "counted";
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly by: number;
    }
  /** Another policy holds from now on. */
  | { readonly at: "policy"; readonly version: string };

/** Is told what happens in a proxy. What it throws is logged once, and no message waits for it or depends on it. */
export type ProxyObserver = (happening: ProxyHappening) => void;

/** Tells an observer of a program's own: plain data only, so that what is inside the proxy may change. */
export function tellPlainly(observer: ProxyObserver): Observer {
  return (happening) => {
    const plain = describe(happening);
    // What it returns is looked at too: it may be a promise that fails.
    return plain === null ? undefined : observer(plain);
  };
}

function describe(happening: Happening): ProxyHappening | null {
  switch (happening.at) {
    case "judged": {
      const { turn, decision, outcome, stamp } = happening;
      return { at: "judged", event: describeJudged(turn, decision, outcome, stamp, CLOCKS) };
    }
    case "lost":
      return { at: "lost", event: describeLost(happening, CLOCKS) };
    case "held":
    case "released":
      return null;
    case "session":
    case "trouble":
    case "counted":
    case "policy":
      return happening;
  }
}

const CLOCKS = { time: Date.now, now: (): number => performance.now() };
