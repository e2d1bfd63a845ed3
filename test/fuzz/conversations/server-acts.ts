import type { Ask, Made } from "./records.ts";
import { composeAnswer, isSameId, keyOf, respell, type Template } from "./messages.ts";
import { ASKED, NEWS } from "./news.ts";
import { pick } from "./pick.ts";
import { mayBatch, type ReplyStep, type Setting } from "./plan.ts";
import { LEAKY } from "./policies.ts";
import type { Outlet, Pending } from "./server-end.ts";
import type { Stage } from "./stage.ts";
import type { World } from "./world.ts";

/** What the server does. Each says whether it could be done. */
export interface ServerActs {
  reply(step: ReplyStep): boolean;
  /** Answers all that it was asked, as a good server would. */
  replyToAll(): void;
  replyTogether(nth: number, count: number): boolean;
  again(nth: number, where: number, spelling: number, hasId: boolean): boolean;
  begin(nth: number): boolean;
  end(nth: number, how: "end" | "break"): boolean;
  inform(where: number, kind: number, isLarge: boolean, hasId: boolean): boolean;
  question(where: number, kind: number): boolean;
  /** Takes those off the list that nobody can be answered any more. */
  prune(): void;
}

/** Enough to fill what streams keep, so that those who write have to wait. */
const LARGE = 100_000;

/** How an answer differs from a good one. */
interface Oddities {
  readonly spelling: number;
  readonly kind: ReplyStep["kind"];
  readonly isLarge: boolean;
  readonly status: number;
}

const GOOD: Oddities = { spelling: 0, kind: "result", isLarge: false, status: 200 };

/** Makes what a server does in a world. */
export function createServerActs(stage: Stage, setting: Setting, world: World): ServerActs {
  const { ledger } = stage;
  const mark = (name: string): string => ledger.mark(name);
  const { script, server } = world;
  const { pending, answered } = script;
  let questions = 0;

  /** The text of an answer, written down with what the client may hear of it. */
  function compose(one: Pending, { spelling, kind: wanted, isLarge, status }: Oddities): string {
    const { ask, question } = one;
    // On a line where batches were agreed upon, those of the other era pass as well.
    const kind = wanted === "wrapped" && ask?.era === "stateless" && mayBatch(setting) ? "result" : wanted;
    if (ask === null) throw new Error("the proxy's own requests are not answered here");
    const id = spelled(one, spelling, pending);
    const isBlocked = question.about === LEAKY;
    const isBatch = kind === "wrapped" && ask.era === "stateful" && mayBatch(setting);
    // A status that refuses a request is about that request, whatever the body says.
    const isIdRight = isSameId(id, one.id) || (status >= 300 && kind === "error");
    const isRight = kind !== "unreadable" && (kind !== "wrapped" || isBatch) && isIdRight;
    if (isBlocked || !isRight) ask.isSpoilt = true;
    const isLate = ask.isCancelHeard && !ask.isAlone;
    const said = { kind: "answer" as const, client: ask.client, ask, id, progressToken: null, isLate };
    const { text } = ledger.say(said, (token): Made => {
      if (kind === "error") {
        const template: Template = (as) =>
          `{"jsonrpc":"2.0","id":${as},"error":{"code":-32000,"message":"no","data":{"t":"${token}"}}}`;
        return { full: template, visible: isRight && !isBlocked ? () => template : null };
      }
      const padding = isLarge ? LARGE : 0;
      const answer = composeAnswer({ question, token, mark, padding, isPaged: setting.isPaged });
      const full: Template =
        kind === "unreadable" ? (as) => `${answer.full(as, null).slice(0, -1)},"jsonrpc":"2.0"}` : answer.full;
      const mayPass = isRight && !isBlocked;
      return { full, visible: mayPass ? answer.visible : null };
    });
    return kind === "wrapped" ? `[${text}]` : text;
  }

  function settle(one: Pending): void {
    const at = pending.indexOf(one);
    if (at < 0) return;
    pending.splice(at, 1);
    answered.push(one);
  }

  /**
   * Whether an answer to one request is an answer to another on this stream, by all that anybody can tell: the other is
   * waiting there, and has the same id. That must not happen in one session where the first was cancelled or given up:
   * its id is not used again there.
   */
  function isMistakable(one: Pending, spelling: number, outlet: Outlet): boolean {
    const key = keyOf(spelled(one, spelling, pending));
    return pending.some(
      (other) =>
        other !== one && other.outlet === outlet && keyOf(other.id) === key && !mustBeKeptApart(one.ask, other.ask),
    );
  }

  /** Whoever waits on a stream that ends may be told so. */
  function spoil(outlet: Outlet): void {
    for (const { ask } of pending.filter((each) => each.outlet === outlet)) if (ask !== null) ask.isSpoilt = true;
  }

  function reply(step: ReplyStep): boolean {
    const one = choose(pending, step.nth);
    if (one === null) return false;
    const { ask, outlet } = one;
    if (ask === null) {
      script.freeOwn();
      return true;
    }
    const where = step.where < 0 ? outlet : choose(server.outlets(), step.where);
    // Another client may have resumed its stream.
    const isOwn = where === outlet && (outlet.client ?? ask.client) === ask.client;
    if (where === null || (!where.isOpen && !where.isKept) || isMistakable(one, step.spelling, where)) return false;
    const hadWay = where.isOpen;
    const isBody = isOwn && step.as === "json" && where.isBare;
    // A status is about all that came with the request, so not where that was a batch.
    const status = isBody && ask.mates.length === 0 ? step.status : 200;
    const text = compose(one, { ...step, status });
    stage.note(`server answers ${ask.number}${isOwn ? "" : " elsewhere"}: ${text}`);
    if (isOwn && hadWay) ask.isReplied = true; // before it is said: it may be heard at once
    if (isBody) {
      if (status >= 300) ask.isSpoilt = true;
      if (status === 404) ledger.renew();
      // A body that does not answer everything answers nothing.
      if (pending.some((each) => each !== one && each.outlet === where)) spoil(where);
      settle(one);
      where.respond(text, status);
    } else if (isOwn && isUnrelated(one, step.spelling, pending)) {
      ask.isReplied = false;
      where.say(text, step.hasId); // nobody can tell what it was meant to answer
      return true;
    } else {
      where.say(text, step.hasId);
      if (isOwn) settle(one);
      if (isOwn && step.as !== "open") {
        spoil(where);
        where.end();
      }
    }
    return true;
  }

  function replyWell(one: Pending): void {
    const { ask, outlet } = one;
    if (ask === null) return script.freeOwn();
    settle(one);
    if (!outlet.isOpen && !outlet.isKept) return;
    const text = compose(one, GOOD);
    stage.note(`server answers ${ask.number}: ${text}`);
    if (outlet.isOpen) ask.isReplied = true;
    const others = pending.some((each) => each.outlet === outlet);
    if (outlet.isBare && !others) return outlet.respond(text, 200);
    outlet.say(text, outlet.isKept);
    if (!others) outlet.end();
  }

  /** Says something that nobody asked for. */
  function say(
    outlet: Outlet,
    kind: "request" | "notification",
    id: string,
    made: (token: string) => Made,
    hasId: boolean,
  ): void {
    const about = pending.find((each) => each.outlet === outlet && each.progressToken !== null);
    const progressToken = about?.progressToken ?? '"none"';
    const said = {
      kind,
      client: outlet.client,
      ask: about?.ask?.progressToken === undefined ? null : about.ask,
      id,
      progressToken,
      isLate: false,
    };
    const { text } = ledger.say(said, made);
    stage.note(`server says ${text}`);
    outlet.say(text, hasId);
  }

  return {
    reply,
    replyToAll() {
      for (const one of pending.slice()) replyWell(one); // what is answered is taken off the list
    },
    replyTogether(nth, count) {
      const first = choose(pending, nth);
      if (first === null || first.ask?.era !== "stateful" || !mayBatch(setting)) return false;
      const { outlet } = first;
      if (!outlet.isOpen) return false;
      const group = pending.filter((one) => one.ask?.era === "stateful" && one.outlet === outlet).slice(0, count);
      const text = `[${group.map((one) => compose(one, GOOD)).join(",")}]`;
      stage.note(`server answers together: ${text}`);
      for (const one of group) {
        settle(one);
        if (one.ask !== null) one.ask.isReplied = true;
      }
      const isLast = pending.every((each) => each.outlet !== outlet);
      if (outlet.isBare && isLast) outlet.respond(text, 200);
      else outlet.say(text, false);
      return true;
    },
    again(nth, where, spelling, hasId) {
      const one = choose(answered, nth);
      // While somebody does not read, it would not be judged before what is asked later.
      if (one === null || one.ask === null || world.isHeld) return false;
      const outlet = where < 0 ? one.outlet : choose(server.outlets(), where);
      if (outlet === null || !outlet.isOpen || isMistakable(one, spelling, outlet)) return false;
      // What was spoilt before may be answered by an error; what was not, was answered.
      const wasSpoilt = one.ask.isSpoilt;
      const text = compose(one, { ...GOOD, spelling });
      one.ask.isSpoilt = wasSpoilt;
      stage.note(`server answers ${one.ask.number} again: ${text}`);
      outlet.say(text, hasId);
      return true;
    },
    begin(nth) {
      const one = choose(pending, nth);
      if (one === null || one.ask === null || !one.outlet.isBare) return false;
      stage.note(`server begins a stream for ${one.ask.number}`);
      one.outlet.say("", true);
      return true;
    },
    end(nth, how) {
      const outlet = choose(server.outlets(), nth);
      if (outlet === null || setting.server === "stdio") return false;
      stage.note(`server ${how}s a stream of client ${outlet.client}`);
      spoil(outlet);
      outlet[how]();
      return true;
    },
    inform(where, kind, isLarge, hasId) {
      const outlet = choose(server.outlets(), where);
      if (outlet === null) return false;
      const pad = isLarge ? `,"pad":"${"x".repeat(LARGE)}"` : "";
      const news = NEWS[kind % NEWS.length];
      const secret = news.isHidden ? mark("secret_a") : "";
      say(
        outlet,
        "notification",
        "null",
        (token) => {
          const template: Template = (_, progress) =>
            `{"jsonrpc":"2.0","method":"${news.method}","params":{${news.params.replace("TOKEN", () => progress ?? "0")}${pad},"_meta":{"t":"${token}","x":"${secret}"}}}`;
          return { full: template, visible: news.isHidden ? null : () => template };
        },
        hasId,
      );
      return true;
    },
    question(where, kind) {
      const outlet = choose(server.outlets(), where);
      if (outlet === null) return false;
      const { method, isBlocked } = ASKED[kind % ASKED.length];
      const secret = isBlocked ? mark("secret_a") : "";
      say(
        outlet,
        "request",
        String(++questions),
        (token) => {
          const template: Template = (id) =>
            `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"messages":[], "n":1.50,"_meta":{"t":"${token}","x":"${secret}"}}}`;
          return { full: template, visible: isBlocked ? null : () => template };
        },
        false,
      );
      return true;
    },
    prune() {
      for (const one of pending.filter(({ outlet }) => !outlet.isOpen && !outlet.isKept)) settle(one);
    },
  };
}

function choose<T>(among: readonly T[], nth: number): T | null {
  return among.length === 0 ? null : pick(among, nth);
}

/** The id of an answer: as it was asked, or another spelling that is not the id of another request. */
function spelled({ id }: Pending, spelling: number, pending: readonly Pending[]): string {
  if (spelling === 0) return id;
  const spellings = respell(id);
  const other = spellings[(spelling - 1) % spellings.length];
  return keyOf(other) !== keyOf(id) && pending.some((one) => keyOf(one.id) === keyOf(other)) ? id : other;
}

/** Whether the id of an answer is such that nobody takes it for the request's. */
function isUnrelated(one: Pending, spelling: number, pending: readonly Pending[]): boolean {
  return keyOf(spelled(one, spelling, pending)) !== keyOf(one.id);
}

/** Whether the proxy has to keep the answers to two requests with the same id apart. */
function mustBeKeptApart(one: Ask | null, other: Ask | null): boolean {
  if (one === null || other === null || one.isAlone || other.isAlone) return false;
  return one.client === other.client && one.session === other.session && (one.isCancelled || !one.isReplied);
}
