/** Memory that all messages in transit share. */
export interface Budget {
  /** Registers a message that will use memory. */
  claim(holder: Holder): Claim;
  /** How many bytes are in use. */
  readonly taken: number;
  /** Whether the limit is exceeded. */
  readonly isShort: boolean;
  /** Calls back once, when there is room again. */
  whenRoom(resume: () => void): void;
  /** Raises the limit to at least this many bytes. */
  raise(bytes: number): void;
}

/** A message, or part of one, that uses memory. */
export interface Holder {
  /** Stops it from growing, if it arrives in chunks. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /**
   * Gives it up, because it has stopped making progress while others wait for its memory. It must release its claim.
   */
  readonly cut: () => void;
  /**
   * A number that changes while the message makes progress without changing its size: how many bytes its reader has not
   * read yet.
   */
  readonly pulse?: () => number;
}

/** The memory of one message. */
export interface Claim {
  /** Sets how many bytes it uses now. */
  weigh(bytes: number): void;
  /** Frees all of its bytes. */
  release(): void;
}

/** A holder that has not changed for this long is given up if others wait for memory. */
export const STANDSTILL_MS = 5000;
/** The one holder that may exceed the limit loses this privilege after this long without a change. */
export const TURN_MS = 1000;
const LOOK_MS = 250;
/** The size of one read. For each such size that is free, one waiting holder may continue. */
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
 * Makes a budget of this many bytes. A holder that grows beyond the limit has to wait. One at a time may continue all
 * the same, up to one and a half times the limit: a message can be forwarded only when it is complete, and incomplete
 * messages may have taken all the memory.
 */
export function createBudget(bytes: number, now: () => number = () => performance.now()): Budget {
  const entries = new Set<Entry>();
  const waiting = new Set<Entry>(); // longest wait first
  let maxBytes = bytes;
  let ready: (() => void)[] = [];
  let total = 0;
  let privileged: Entry | null = null;
  let lastMove = now(); // of any holder
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

  /** Resumes the holders that may continue. */
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
    // All holders wait, and there is no room to complete any of them: the largest is given up for the others.
    if (total > 1.5 * maxBytes && moment - lastMove >= STANDSTILL_MS) {
      giveUp(held.filter(({ isCut }) => !isCut).toSorted((one, other) => other.bytes - one.bytes)[0]);
    }
    if (privileged !== null && moment - privileged.movedAt >= TURN_MS && waiting.size > 0) {
      const last = privileged;
      privileged = null;
      // While another holder is not waiting and so may itself be given up, this one only loses its privilege.
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
            if (entry === privileged) privileged = null; // it is complete
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
