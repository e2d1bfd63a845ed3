import { OPEN_OBJECT } from "../../message/characters.ts";
import { skipSpace } from "../../message/members.ts";
import { whole } from "../../message/message.ts";
import { scan } from "../../message/scan.ts";
import { showText } from "../../message/text.ts";
import type { HoldVerdict } from "../../store/holds.ts";
import { type Change, problem } from "../../action/change.ts";
import { followMessage } from "../hook.ts";
import { apply, detach } from "./rewrite.ts";
import { signalOf } from "./wait.ts";
import { BLOCKED, bareName, failBy, note, refuse, type Walk } from "./walk.ts";

/** The settings for holding a message. */
export interface HoldSetting {
  /** The question that the person is asked. */
  readonly ask: string | null;
  /** How long the message is held at most. The timeout of the chain is paused meanwhile. */
  readonly timeoutMs: number;
  /** What happens to the message if nobody decides before the timeout. */
  readonly atDeadline: "deny" | "allow";
}

/** Holds a message for a rule or an interceptor until a person decides, and carries out the decision. */
export async function hold(walk: Walk, name: string, setting: HoldSetting): Promise<void> {
  const { services, settings } = walk;
  if (walk.heldBy.has(name)) return;
  if (settings.observe) return note(walk, "hold", name);
  detach(walk);
  const { view } = walk.stop;
  const { bytes, start, end } = walk.turn.message;
  const began = services.now();
  try {
    const ended = await services.hold(
      {
        server: settings.server,
        session: walk.turn.session.id,
        identity: view.identity,
        client: view.client,
        direction: view.direction,
        method: view.method,
        tool: view.tool ?? null,
        rule: bareName(name),
        message: bytes.subarray(start, end),
        check(message) {
          const change = changeTo(walk, message);
          return "problem" in change ? change.problem : null;
        },
        ...setting,
      },
      signalOf(walk),
    );
    walk.delayedMs += services.now() - began;
    walk.heldBy = new Set([...walk.heldBy, name]);
    switch (ended.by) {
      case "decision":
        return await follow(walk, name, ended.verdict);
      case "deadline":
        if (setting.atDeadline === "deny") refuseBy(walk, name, "Nobody decided in time");
        return;
      case "no-room":
        return refuseBy(walk, name, "Too many messages are held");
      case "withdrawal":
        // Normally nobody waits for the message any more. Refuse it all the same, because nobody has allowed it.
        return refuseBy(walk, name, "Nobody decided");
    }
  } catch (error) {
    failBy(walk, name, error);
  }
}

async function follow(walk: Walk, name: string, verdict: HoldVerdict): Promise<void> {
  switch (verdict.do) {
    case "allow":
      return;
    case "deny":
      return refuseBy(walk, name, verdict.reason);
    case "change": {
      const { message } = walk.turn;
      await apply(walk, name, changeTo(walk, verdict.message));
      if (walk.turn.message === message) return;
      // The new message has not been judged yet, so all rules and interceptors judge it, and others may hold it again.
      walk.isAnew = true;
      walk.heldBy = new Set([name]);
    }
  }
}

function refuseBy(walk: Walk, name: string, reason: string | null): void {
  const message = reason === null ? "Blocked by policy" : showText(reason, MAX_REASON_CHARACTERS);
  refuse(walk, name, { code: BLOCKED, message, data: { rule: bareName(name), action: "hold" } });
}

const MAX_REASON_CHARACTERS = 500;

/** The edits that turn a message into the one that a person wrote. */
function changeTo({ turn, stop }: Walk, message: Buffer): Change {
  if (stop.isInner) return problem("a message inside another one cannot be changed here");
  if (scan(whole(message)).fault !== null) return problem("it is not valid JSON, or is ambiguous");
  const start = skipSpace(message, 0);
  if (message[start] !== OPEN_OBJECT) return problem("it is not a JSON object");
  return followMessage(turn.message, { bytes: message, span: { start, end: message.length } });
}
