/** Memory that many messages share while they are on their way. */
export interface Budget {
  /** Registers a message that will take up memory. */
  claim(holder: Holder): Claim;
  /** How many bytes are taken up. */
  readonly taken: number;
  /** Whether there is no room for more. */
  readonly isShort: boolean;
  /** Calls back once, when there is room again. */
  whenRoom(resume: () => void): void;
  /** Makes it at least so large. */
  raise(bytes: number): void;
}

/** What takes up memory. */
export interface Holder {
  /** Stops it from growing, where it grows bit by bit. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Gives it up: it stands still while others wait for the memory that it takes. It releases its claim. */
  readonly cut: () => void;
  /** A number that changes when it goes on although its size does not: how much of it the reader has not taken yet. */
  readonly pulse?: () => number;
}

/** The memory of one message. */
export interface Claim {
  /** Says how many bytes it takes up now. */
  weigh(bytes: number): void;
  /** It takes up nothing any more. */
  release(): void;
}

/** What takes up memory and has not changed for so long is given up, where others wait for room. */
export const STANDSTILL_MS = 5000;
/** Whose turn it is to go on in spite of a shortage loses it after so long without a change. */
export const TURN_MS = 1000;
const LOOK_MS = 250;
/** How much comes in one read. For each of that there is room for, one may go on. */
const READ_BYTES = 65_536;

interface Entry {
  readonly holder: Holder;
  bytes: number;
  /** When its size or its pulse last changed. */
  movedAt: number;
  pulse: number;
  isWaiting: boolean;
  isCut: boolean;
}

/**
 * Makes a budget of so many bytes. Who grows beyond it waits. One at a time may go on all the same, up to half as much
 * again: a message is only of use when it is whole, and all the memory may be taken by messages that are not.
 */
export function createBudget(bytes: number, now: () => number = () => performance.now()): Budget {
  const entries = new Set<Entry>();
  const waiting = new Set<Entry>(); // who has waited longest comes first
  let maxBytes = bytes;
  let ready: (() => void)[] = [];
  let total = 0;
  let privileged: Entry | null = null;
  let lastMove = now(); // of anybody
  let timer: NodeJS.Timeout | null = null;

  function wait(entry: Entry): void {
    if (entry.isWaiting || entry.holder.pause === undefined) return;
    entry.isWaiting = true;
    waiting.add(entry);
    entry.holder.pause();
    watch();
  }

  function goOn(entry: Entry): void {
    waiting.delete(entry);
    entry.isWaiting = false;
    entry.movedAt = now();
    entry.holder.resume?.();
  }

  /** Lets go on whoever may. */
  function settle(): void {
    if (total <= maxBytes) {
      let room = 1 + Math.floor((maxBytes - total) / READ_BYTES);
      for (const entry of waiting) if (room-- > 0) goOn(entry);
      const resumed = ready;
      ready = [];
      for (const resume of resumed) resume();
    } else if (privileged === null && total <= 1.5 * maxBytes) {
      for (const entry of waiting) {
        privileged = entry;
        return goOn(entry);
      }
    }
  }

  function feelPulse(entry: Entry, moment: number): void {
    const pulse = entry.holder.pulse?.() ?? 0;
    if (pulse === entry.pulse) return;
    entry.pulse = pulse;
    entry.movedAt = lastMove = moment;
  }

  function watch(): void {
    timer ??= setInterval(look, LOOK_MS).unref();
  }

  function look(): void {
    if (waiting.size === 0 && ready.length === 0) {
      if (timer !== null) clearInterval(timer);
      timer = null;
      return;
    }
    const moment = now();
    let excess = total - maxBytes;
    const giveUp = (entry: Entry | undefined): void => {
      if (entry === undefined || excess <= 0) return;
      excess -= entry.bytes;
      entry.isCut = true;
      entry.holder.cut();
    };
    const held = [...entries].filter((entry) => entry.bytes > 0 && !entry.isCut);
    for (const entry of held) feelPulse(entry, moment);
    held.sort((one, other) => one.movedAt - other.movedAt);
    for (const entry of held) if (!entry.isWaiting && moment - entry.movedAt >= STANDSTILL_MS) giveUp(entry);
    // All wait, and there is no room for any of them to end: the largest makes room for the others.
    if (total > 1.5 * maxBytes && moment - lastMove >= STANDSTILL_MS) {
      giveUp(held.filter(({ isCut }) => !isCut).toSorted((one, other) => other.bytes - one.bytes)[0]);
    }
    if (privileged !== null && moment - privileged.movedAt >= TURN_MS && waiting.size > 0) {
      const last = privileged;
      privileged = null;
      // As long as somebody else may stand still, it only loses its turn.
      if (held.some((entry) => entry !== last && !entry.isWaiting && !entry.isCut)) wait(last);
      else giveUp(last);
    }
    settle();
  }

  return {
    get taken() {
      return total;
    },
    get isShort() {
      return total > maxBytes;
    },
    raise(least) {
      maxBytes = Math.max(maxBytes, least);
    },
    whenRoom(resume) {
      if (total <= maxBytes) return resume();
      ready.push(resume);
      watch();
    },
    claim(holder) {
      const entry: Entry = { holder, bytes: 0, movedAt: now(), pulse: 0, isWaiting: false, isCut: false };
      entries.add(entry);
      return {
        weigh(size) {
          if (size === entry.bytes || !entries.has(entry)) return;
          const hasGrown = size > entry.bytes;
          total += size - entry.bytes;
          entry.bytes = size;
          entry.movedAt = lastMove = now();
          if (!hasGrown) {
            if (entry === privileged) privileged = null; // it is whole
            return settle();
          }
          if (total <= maxBytes) return;
          if (entry !== privileged || total > 1.5 * maxBytes) wait(entry);
          settle();
        },
        release() {
          if (!entries.delete(entry)) return;
          waiting.delete(entry);
          if (privileged === entry) privileged = null;
          total -= entry.bytes;
          settle();
        },
      };
    },
  };
}
