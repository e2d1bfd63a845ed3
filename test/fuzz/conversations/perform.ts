import { createClientActs } from "./client-acts.ts";
import { type Ask, isOver } from "./records.ts";
import { pick } from "./pick.ts";
import type { Plan, Setting, Step } from "./plan.ts";
import { createServerActs } from "./server-acts.ts";
import { createStage, type Stage } from "./stage.ts";
import { openWorld, type World } from "./world.ts";

/** How a conversation went. */
export interface Performance {
  /** What went wrong first; null where nothing did. */
  readonly complaint: string | null;
  readonly trace: readonly string[];
  /** The steps that could be taken, by what they do. */
  readonly taken: ReadonlyMap<string, number>;
  readonly asks: number;
}

/** Leads a conversation to its end, and says what went wrong. Nothing in it may take longer than `limitMs`. */
export async function perform({ setting, steps }: Plan, limitMs = LIMIT_MS): Promise<Performance> {
  const stage = createStage(setting.policy, limitMs);
  const taken = new Map<string, number>();
  const world = await openWorld(stage, setting);
  try {
    const actors = createActors(stage, setting, world);
    for (const step of steps) {
      if (stage.complaint !== null) break;
      if (step.isQuick !== true) await stage.pulse.rest(); // there may have been a quick one before it
      if (!(await actors.take(step))) continue;
      taken.set(step.do, (taken.get(step.do) ?? 0) + 1);
      if (step.isQuick !== true) await actors.rest();
    }
    if (stage.complaint === null) await actors.conclude();
  } finally {
    world.close();
  }
  return { complaint: stage.complaint, trace: stage.trace, taken, asks: stage.ledger.asks.length };
}

const LIMIT_MS = 5000;

interface Actors {
  take(step: Step): Promise<boolean>;
  /** Waits until nothing more happens, and until all that has to happen has. */
  rest(): Promise<void>;
  /** Has everything answered that can be, and looks whether all was answered and all still works. */
  conclude(): Promise<void>;
}

function createActors(stage: Stage, setting: Setting, world: World): Actors {
  const { ledger, pulse } = stage;
  const clientActs = createClientActs(stage, setting, world);
  const serverActs = createServerActs(stage, setting, world);
  const { clients, server, script } = world;
  const { states } = clientActs;

  async function take(planned: Step): Promise<boolean> {
    const step = "client" in planned ? { ...planned, client: planned.client % clients.length } : planned;
    switch (step.do) {
      case "ask":
        return clientActs.ask(step);
      case "batch":
        return clientActs.batch(step.client, step.asks);
      case "cancel":
        return clientActs.cancel(step.client, step.nth, step.spelling);
      case "fill":
        if (!states[step.client].isOpen) return false;
        for (let count = 0; count < step.count; count++) clientActs.ping(step.client, false);
        return true;
      case "open":
        return setting.era !== "stateless" && clientActs.open(step.client);
      case "delete": {
        if (!states[step.client].isOpen || !clients[step.client].remove()) return false;
        endSession(step.client);
        return true;
      }
      case "listen":
        return states[step.client].isOpen && clients[step.client].listen(null);
      case "resume": {
        const { eventIds } = server;
        if (eventIds.length === 0 || !states[step.client].isOpen) return false;
        return clients[step.client].listen(pick(eventIds, step.nth));
      }
      case "leave": {
        const open = clientActs.waiting(step.client);
        return open.length > 0 && clients[step.client].leave(pick(open, step.nth));
      }
      case "hold":
        if (!clients[step.client].hold(step.nth)) return false;
        world.isHeld = true;
        return true;
      case "read":
        read();
        return true;
      case "respond":
        return clientActs.respond(step.client, step.nth);
      case "reply":
        return serverActs.reply(step);
      case "replyTogether":
        return serverActs.replyTogether(step.nth, step.count);
      case "again":
        return serverActs.again(step.nth, step.where, step.spelling, step.hasId);
      case "begin":
        return serverActs.begin(step.nth);
      case "end":
      case "break": {
        if (setting.server !== "sse") return serverActs.end(step.nth, step.do);
        // There the stream is the session.
        const streams = server.outlets();
        const client = streams.length === 0 ? null : pick(streams, step.nth).client;
        return client !== null && forget(client);
      }
      case "inform":
        return serverActs.inform(step.where, step.kind, step.isLarge, step.hasId);
      case "question":
        return serverActs.question(step.where, step.kind);
      case "holdOwn":
        script.holdsOwn = true;
        return true;
      case "freeOwn":
        script.freeOwn();
        return true;
      case "closeGate":
        world.gate.isClosed = true;
        return true;
      case "openGate":
        world.gate.open();
        return true;
      case "forget":
        return forget(step.client);
      case "die":
        return die();
      case "revive":
        if (server.isAlive || setting.onLoss === "exit") return false;
        await server.revive();
        return true;
      case "reload":
        stage.note(`policy ${step.policy} is loaded`);
        ledger.setPolicy(step.policy);
        await world.reload(step.policy);
        return true;
    }
  }

  function read(): void {
    world.isHeld = false;
    for (const client of clients) client.read();
  }

  /** Of what waits in a session that is over, anything may come. */
  function endSession(client: number): void {
    for (const ask of clientActs.waiting(client)) ask.isSpoilt = true;
    states[client].isOpen = false;
  }

  function forget(client: number): boolean {
    if (!server.forget(client)) return false;
    stage.note(`server forgets client ${client}`);
    // A client of another transport does not notice: the session is begun anew.
    if (setting.client !== "http" && setting.server === "http") {
      for (const ask of clientActs.waiting(client)) ask.isSpoilt = true;
      ledger.renew();
      return true;
    }
    endSession(client);
    if (setting.server !== "http") world.isBroken = true;
    return true;
  }

  function die(): boolean {
    if (!server.die()) return false;
    stage.note("server dies");
    world.isBroken = true;
    for (let client = 0; client < clients.length; client++) endSession(client);
    for (const ask of ledger.asks) ask.isSpoilt = true;
    return true;
  }

  async function rest(): Promise<void> {
    await pulse.rest();
    serverActs.prune();
    if (world.isHeld) return;
    if (!(await pulse.until(() => stage.complaint !== null || ledger.asks.every(isInOrder)))) {
      const stuck = ledger.asks.find((ask) => !isInOrder(ask));
      stage.complain(`request ${stuck?.number} hangs`);
    }
    // What is held back was judged by the policy of its time.
    if (world.gate.held === 0) ledger.rested();
  }

  /** Whether a request is where it should be by now: at the server, answered, or given up. */
  function isInOrder(ask: Ask): boolean {
    if (isOver(ask) || ask.isCancelled || ask.isLeft || ask.resumeAfter !== null) return true;
    // What is held back may hold up others: the rest of a batch, and the end of its stream.
    if (world.gate.held > 0) return true;
    // What is refused of a batch is answered with the rest of it.
    if (ask.arrivals === 0 && ask.mates.some((each) => script.pending.some((one) => one.ask === each))) return true;
    const group = [ask, ...ask.mates];
    if (ask.arrivals === 0)
      return script.holdsOwn && group.some(({ question }) => question.method.startsWith("tools/"));
    if (ask.isReplied) return !clients[ask.client].hears(ask);
    return script.pending.some((each) => each.ask === ask);
  }

  async function conclude(): Promise<void> {
    stage.note("the end begins");
    read();
    world.gate.open();
    script.freeOwn();
    if (setting.onLoss === "keep") await server.revive();
    for (let round = 0; round < ROUNDS && stage.complaint === null; round++) {
      await rest();
      const suspended = ledger.asks.filter((ask) => !isOver(ask) && ask.resumeAfter !== null && !ask.isLeft);
      if (script.pending.length === 0 && suspended.length === 0) break;
      for (const ask of suspended) {
        const after = ask.resumeAfter;
        ask.resumeAfter = null;
        const isOfSession = ask.number >= states[ask.client].since && states[ask.client].isOpen;
        if (isOfSession) clients[ask.client].listen(after);
        else ask.end = "nobody can resume it";
      }
      await pulse.rest();
      serverActs.replyToAll();
    }
    if (stage.complaint !== null) return;
    await probe();
    if (stage.complaint !== null) return;
    const forgotten = ledger.asks.find((ask) => !isOver(ask) && !ask.isCancelled && !ask.isLeft);
    if (forgotten !== undefined) stage.complain(`request ${forgotten.number} was never answered`);
  }

  /** Whatever was before: who asks now is answered. */
  async function probe(): Promise<void> {
    if (!server.isAlive || (setting.client === "stdio" && world.isBroken)) return;
    for (let client = 0; client < clients.length && stage.complaint === null; client++) {
      const isStateless = setting.era === "stateless";
      if (!isStateless && !states[client].isOpen && clients[client].isAlive) await clientActs.open(client);
      if (stage.complaint !== null || (!isStateless && !states[client].isOpen)) continue;
      stage.note(`client ${client} asks a last question`);
      const ask = clientActs.ping(client, isStateless);
      await rest();
      serverActs.replyToAll();
      await rest();
      if (stage.complaint === null && !isOver(ask))
        stage.complain(`request ${ask.number}, the last one, was never answered`);
    }
  }

  return { take, rest, conclude };
}

const ROUNDS = 10;
