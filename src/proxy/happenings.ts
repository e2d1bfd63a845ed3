import { performance } from "node:perf_hooks";
import { describeJudged, describeLost } from "../record/audit-event.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Happening, Observer, Who } from "../record/observers.ts";

/**
 * Something that a program is told while its proxy runs. A message is described as in the audit log, without arguments
 * and results. Further kinds may be added: ignore those that you do not know.
 */
export type ProxyHappening =
  /** A client's session was opened, its handshake is complete (`introduced`), or it was closed. */
  | { readonly at: "session"; readonly state: "opened" | "introduced" | "closed"; readonly who: Who }
  /** The outcome of a message. */
  | { readonly at: "judged"; readonly event: AuditEvent }
  /** A message that was too large to keep. */
  | { readonly at: "lost"; readonly event: AuditEvent }
  /** A problem that does not belong to a single message, as in the log. */
  | { readonly at: "trouble"; readonly rule: string; readonly text: string }
  /** Something other than a message was counted. */
  | {
      readonly at: "counted";
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly by: number;
    }
  /** Another policy is in force from now on. */
  | { readonly at: "policy"; readonly version: string };

/** Is called with each happening. An exception from it is logged once; messages do not wait for it or depend on it. */
export type ProxyObserver = (happening: ProxyHappening) => void;

/** Wraps a program's observer: it gets plain data only, so that internals of the proxy may change. */
export function tellPlainly(observer: ProxyObserver): Observer {
  return (happening) => {
    const plain = describe(happening);
    // Return its result too: it may be a promise that rejects.
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
