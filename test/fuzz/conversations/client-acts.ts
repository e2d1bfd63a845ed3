import { type Ask, isOver } from "./records.ts";
import {
  composeInitialize,
  composeQuestion,
  type Era,
  forbids,
  keyOf,
  type Question,
  QUESTIONS,
  respell,
} from "./messages.ts";
import { type AskStep, type IdChoice, mayBatch, type Setting } from "./plan.ts";
import { pick } from "./pick.ts";
import type { Stage } from "./stage.ts";
import type { World } from "./world.ts";

/** What is known of one client in its session. */
interface ClientState {
  /** Whether its session has begun, and has not ended. */
  isOpen: boolean;
  /** The ids it has used in this session as they were spelt, and what peers look them up by. */
  readonly ids: string[];
  readonly keys: Set<number | string>;
  /** The number of its first request. */
  readonly since: number;
  fresh: number;
}

/** What clients do. Each says whether it could be done. */
export interface ClientActs {
  readonly states: readonly ClientState[];
  /** The requests of a client's session that it waits for. */
  waiting(client: number): readonly Ask[];
  open(client: number): Promise<boolean>;
  ask(step: AskStep): boolean;
  batch(client: number, steps: readonly AskStep[]): boolean;
  ping(client: number, isStateless: boolean): Ask;
  cancel(client: number, nth: number, spelling: number): boolean;
  /** Answers a request of the server's. */
  respond(client: number, nth: number): boolean;
}

/** Makes what clients do in a world. */
export function createClientActs(stage: Stage, setting: Setting, world: World): ClientActs {
  const { ledger, pulse } = stage;
  const states = world.clients.map(() => createState(0));

  function waiting(client: number): Ask[] {
    const { since } = states[client];
    return ledger.asks.filter((ask) => ask.client === client && ask.number >= since && !isOver(ask) && !ask.isLeft);
  }

  /** Whether a request shares no session with others: it says everything itself, or the server has no sessions. */
  function isAlone(era: Era): boolean {
    return setting.client === "http" && (era === "stateless" || (setting.server === "http" && !setting.hasSessions));
  }

  function chooseId(state: ClientState, { from, nth }: IdChoice): string {
    const { ids } = state;
    // While somebody does not read, or an answer is held back, nobody could tell which of two an error is for.
    if (from === "fresh" || ids.length === 0 || world.isHeld || world.gate.held > 0) {
      const number = ++state.fresh;
      return number % 3 === 0 ? `"s${number}"` : String(number);
    }
    const used = pick(ids, nth);
    const others = respell(used).filter((each) => !each.endsWith(".0")); // which would not be an id
    return from === "used" ? used : pick(others, nth);
  }

  /** Writes a request down, and whether it should pass. */
  function note(client: number, question: Question, choice: IdChoice, era: Era, hasProgress: boolean, before = 0): Ask {
    const state = states[client];
    const id = chooseId(state, choice);
    const others = ledger.asks.filter((ask) => ask.client === client && ask.number >= state.since && !isOver(ask));
    // One that was left while it was held back has its place until it is let go; others give theirs up.
    const open = others.filter(
      (ask) => !ask.isCancelled && ask.resumeAfter === null && (!ask.isLeft || ask.arrivals === 0),
    );
    const isDuplicate = others.some((ask) => !ask.isCancelled && keyOf(ask.id) === keyOf(id));
    const isForbidden = forbids(ledger.policy, question);
    const alone = isAlone(era);
    const isFree = alone || (!state.keys.has(keyOf(id)) && open.length + before < setting.maxOpenCalls);
    const isPlain = world.server.isAlive && !world.isBroken && !world.isHeld && !world.script.holdsOwn;
    state.ids.push(id);
    state.keys.add(keyOf(id));
    const progressToken = hasProgress ? id : null;
    return ledger.ask(
      {
        client,
        session: state.since,
        id,
        question,
        era,
        progressToken,
        isAlone: alone,
        isDuplicate,
        isForbidden,
        mustPass: !isForbidden && isFree && isPlain,
      },
      (token) =>
        question.method === "initialize"
          ? composeInitialize(setting.revision, token)
          : composeQuestion(question, era, token),
    );
  }

  function send(ask: Ask): Ask {
    const { client, question, era, id, progressToken } = ask;
    const { method, about = null } = question;
    const name = method === "resources/read" ? `${about}://x` : about;
    const mirrored = era === "stateless" ? { method, name } : null;
    world.clients[client].send({ text: ask.template(id, progressToken), asks: [ask], mirrored });
    return ask;
  }

  function tell(client: number, about: Parameters<typeof ledger.tell>[1], make: (token: string) => string): void {
    world.clients[client].send({ text: ledger.tell(make, about), asks: [], mirrored: null });
  }

  return {
    states,
    waiting,
    async open(client) {
      const end = world.clients[client];
      if (states[client].isOpen || !end.prepare()) return false;
      await pulse.until(() => end.isReady || !end.isAlive || stage.complaint !== null);
      if (!end.isReady) return true;
      const state = createState(ledger.asks.length);
      // On lines it is the same session for life: an id that was used in it is not free again.
      if (setting.client === "stdio") {
        state.fresh = states[client].fresh;
        for (const key of states[client].keys) state.keys.add(key);
      }
      states[client] = state;
      const greeting = send(note(client, { method: "initialize" }, FRESH, "stateful", false));
      if (!(await pulse.until(() => isOver(greeting) || stage.complaint !== null)))
        stage.complain("the greeting was not answered");
      if (greeting.answers === 0 || greeting.isSpoilt) return true;
      state.isOpen = true;
      tell(client, undefined, (token) => notification("notifications/initialized", `"_meta":{"t":"${token}"}`));
      return true;
    },
    ask({ client, question, id, hasProgress, isStateless }) {
      if (!world.clients[client].isAlive || (!isStateless && !states[client].isOpen)) return false;
      send(note(client, QUESTIONS[question], id, isStateless ? "stateless" : "stateful", hasProgress));
      return true;
    },
    batch(client, steps) {
      if (!states[client].isOpen || !mayBatch(setting)) return false;
      const asks = steps.map(({ question, id, hasProgress }, index) =>
        note(client, QUESTIONS[question], id, "stateful", hasProgress, index),
      );
      for (const ask of asks) ask.mates = asks;
      const text = `[${asks.map((ask) => ask.template(ask.id, ask.progressToken)).join(",")}]`;
      world.clients[client].send({ text, asks, mirrored: null });
      return true;
    },
    ping: (client, isStateless) =>
      send(note(client, { method: "ping" }, FRESH, isStateless ? "stateless" : "stateful", false)),
    cancel(client, nth, spelling) {
      // Over HTTP a request of the stateless era is cancelled by leaving it.
      const open = waiting(client).filter((ask) => !ask.isCancelled && !ask.isAlone);
      if (open.length === 0 || !states[client].isOpen) return false;
      const ask = pick(open, nth);
      const id = spelling === 0 ? ask.id : respell(ask.id)[0];
      // Whichever request has that id: a client that does not read need not know that another was refused.
      for (const each of open.filter((other) => keyOf(other.id) === keyOf(ask.id))) {
        each.isCancelled = true;
        each.isSpoilt = true;
      }
      tell(client, ask, (token) =>
        notification("notifications/cancelled", `"requestId":${id},"_meta":{"t":"${token}"}`),
      );
      return true;
    },
    respond(client, nth) {
      const heard = ledger.sayings.filter(
        (each) => each.kind === "request" && each.client === client && each.heard > 0,
      );
      if (heard.length === 0 || !states[client].isOpen) return false;
      const saying = pick(heard, nth);
      tell(client, saying, (token) => `{"jsonrpc":"2.0","id":${saying.id},"result":{"n": 1.50,"t":"${token}"}}`);
      return true;
    },
  };
}

const FRESH: IdChoice = { from: "fresh", nth: 0 };

function createState(since: number): ClientState {
  return { isOpen: false, ids: [], keys: new Set(), since, fresh: 0 };
}

function notification(method: string, params: string): string {
  return `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`;
}
