import type { Backlog } from "./backlog.ts";
import type { Batch, Batcher } from "./batch.ts";
import type { Chain } from "./chain.ts";
import type { AuditFile } from "./file.ts";
import type { HeadFile } from "./head.ts";
import { sleep } from "./sleep.ts";
import { type AuditEvent, UNAUDITED_RULE } from "../event.ts";

/** An audit log that is being written. */
export interface AuditLog {
  /** Queues an event. It is written shortly after: messages do not wait for the disk, unless the backlog is full. */
  write(event: AuditEvent): void;
  /**
   * Writes an event and the whole backlog before it returns. False if that fails: then the message must not be
   * forwarded, and the log will say that it was not.
   */
  writeNow(event: AuditEvent): boolean;
  /** Resolves when everything queued has been written, or cannot be. */
  flush(): Promise<void>;
  /** Writes the backlog and the closing record, synchronously. Later events are not written. */
  close(): void;
}

/** Options of a writer. */
export interface WriterOptions {
  readonly file: AuditFile;
  readonly chain: Chain;
  readonly batcher: Batcher;
  readonly backlog: Backlog;
  /** Keeps the end of the chain; null if that is not possible. */
  readonly head: HeadFile | null;
  /** Called when the first record is in the file and the head says so. */
  readonly onOpened: () => void;
  readonly warn: (text: string) => void;
  readonly now: () => number;
}

/** Makes a writer. */
export function createAuditWriter(options: WriterOptions): AuditLog {
  const { file, chain, batcher, backlog, head, warn, now } = options;
  let flight: Flight | null = null; // at most one write at a time
  let draining: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let failure: string | null = null; // why the last attempt failed
  let saidAt = -Infinity;
  let isOpened = false;
  let isClosed = false;
  let isHeadBehind = false; // the file contains more than the head says

  function schedule(delayMs: number): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      void flush(); // never rejects
    }, delayMs).unref();
  }

  /** Warns at most once a minute. */
  function complain(text: string): void {
    if (now() - saidAt < QUIET_MS) return;
    saidAt = now();
    warn(text);
  }

  function because(): string {
    return failure === null ? "" : ` (${failure})`;
  }

  /** Handles the result of a write. Returns whether the whole batch was written. */
  function settle(batch: Batch, written: number, error: NodeJS.ErrnoException | null): boolean {
    backlog.remove(batch.settle(written));
    if (written === batch.bytes.length) {
      if (failure !== null) warn("the audit log can be written again");
      failure = null;
      return true;
    }
    failure = error?.code ?? "ENOSPC"; // a write that stops short has met the end of the room
    complain(
      `the audit log cannot be written${because()}: ${backlog.unwritten} events are waiting, further events will be lost`,
    );
    return false;
  }

  /** Resolves with whether to continue. */
  async function step(): Promise<boolean> {
    const isWritten = await append(batcher.batch(backlog.take(MAX_BATCH_EVENTS)));
    if (!isWritten) return false;
    await saveHead();
    return !isClosed;
  }

  function append(batch: Batch): Promise<boolean> {
    return new Promise((resolve) => {
      const own: Flight = { batch, from: file.size, isOverdue: false };
      flight = own;
      file.append(batch.bytes, (error, written) => {
        // The end of this write was noticed before the callback ran.
        if (flight !== own) return resolve(failure === null && !isClosed);
        if (!isClosed) {
          flight = null;
          return resolve(settle(batch, error === null ? written : 0, error));
        }
        // close() did not wait for it.
        file.close();
        resolve(false);
      });
    });
  }

  function saveHead(): Promise<void> {
    return new Promise((resolve) => {
      isHeadBehind = false;
      if (head === null || isClosed) return resolve();
      head.save({ seq: chain.length - 1, mac: chain.mac, state: "open" }, (error) => {
        if (error !== null) complain(`the end of the audit log cannot be noted: ${error.message}`);
        else if (!isClosed) opened();
        resolve();
      });
    });
  }

  function opened(): void {
    if (!isOpened) options.onOpened();
    isOpened = true;
  }

  async function drain(): Promise<void> {
    let goesOn = true;
    while (goesOn && (backlog.length > 0 || batcher.isOwing)) goesOn = await step();
    if (isHeadBehind && goesOn) await saveHead();
    draining = null;
    if (isClosed) return;
    if (failure !== null) schedule(RETRY_MS);
    else if (isHeadBehind) schedule(FLUSH_MS);
  }

  function flush(): Promise<void> {
    return isClosed ? Promise.resolve() : (draining ??= drain());
  }

  /** Whether no write is in progress, or the current one ends within this time. */
  function land(patienceMs: number): boolean {
    if (flight === null) return true;
    if (flight.isOverdue || !hasLanded(file, flight, patienceMs)) {
      flight.isOverdue = true; // so that later events do not wait for it too
      return false;
    }
    const { batch } = flight;
    flight = null;
    return settle(batch, batch.bytes.length, null);
  }

  /**
   * Writes the backlog synchronously until there is room for one more event. A flood of messages then waits for the
   * disk and cannot crowd an event out of the log. If the disk fails, messages do not wait for it.
   */
  function makeRoom(event: AuditEvent): void {
    while (backlog.length > 0 && !backlog.hasRoom(event)) {
      if (failure !== null || !land(CATCH_UP_MS)) return;
      if (!appendSync(batcher.batch(backlog.take(MAX_BATCH_EVENTS)))) return;
    }
  }

  /** Writes the whole backlog, synchronously. */
  function catchUp(): boolean {
    if (!land(CATCH_UP_MS)) return false;
    while (backlog.length > 0) {
      if (!appendSync(batcher.batch(backlog.take(MAX_BATCH_EVENTS)))) return false;
      isHeadBehind = true;
    }
    return true;
  }

  /** Writes the whole backlog. If that fails, the chain stays open. */
  function writeRest(): boolean {
    if (flight !== null) {
      const { batch } = flight;
      flight.isOverdue = false;
      if (!land(LANDING_MS)) return settle(batch, 0, UNDER_WAY);
    }
    while (backlog.length > 0) {
      if (!appendSync(batcher.batch(backlog.take(MAX_BATCH_EVENTS)))) return false;
    }
    return appendSync(batcher.closing(backlog.written));
  }

  function appendSync(batch: Batch): boolean {
    try {
      return settle(batch, file.appendSync(batch.bytes), null);
    } catch (error) {
      return settle(batch, 0, error as NodeJS.ErrnoException);
    }
  }

  function add(event: AuditEvent): void {
    if (!backlog.add(event, failure ?? "backlog"))
      return complain(`the audit log cannot keep up${because()}: events are being lost, and the log counts them`);
    if (timer === null && draining === null) schedule(FLUSH_MS);
    else if (backlog.length === MAX_BATCH_EVENTS && failure === null) schedule(0);
  }

  schedule(FLUSH_MS);
  return {
    write(event) {
      if (isClosed) return;
      if (!backlog.hasRoom(event)) makeRoom(event);
      add(event);
    },
    writeNow(event) {
      if (isClosed) return false;
      const couldWrite = catchUp();
      if (couldWrite) {
        add(event);
        if (catchUp()) return true;
      }
      add({ ...event, verdict: "deny", rule: UNAUDITED_RULE, sent: null });
      return false;
    },
    flush,
    close() {
      if (isClosed) return;
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      const isDone = writeRest();
      if (!isDone) warn(`the audit log was not closed${because()}: ${backlog.unwritten} events are not in it`);
      try {
        head?.saveSync({ seq: chain.length - 1, mac: chain.mac, state: isDone ? "closed" : "left" });
        if (head !== null && chain.length > 0) opened();
        head?.close();
      } catch (error) {
        warn(`the end of the audit log could not be noted: ${(error as Error).message}`);
      }
      // Closing now would let a write in progress go to another file that reuses the descriptor.
      if (flight === null) file.close();
    },
  };
}

/** How long an event may wait before it is written. */
const FLUSH_MS = 50;

/** How long to wait after a failure before the next attempt. */
const RETRY_MS = 1000;

/** How often the same warning is repeated. */
const QUIET_MS = 60_000;

/** How many events are encoded at once: a few milliseconds of work. */
const MAX_BATCH_EVENTS = 500;

/** A write in progress. */
interface Flight {
  readonly batch: Batch;
  /** The size of the file before the write. */
  readonly from: number;
  /** Whether waiting for it has timed out. */
  isOverdue: boolean;
}

/** Waits for a write in progress by reading the file. Its callback cannot run, because the event loop is blocked. */
function hasLanded(file: AuditFile, { batch: { bytes }, from }: Flight, patienceMs: number): boolean {
  const lineEnd = bytes.toString("latin1", bytes.length - LINE_END_BYTES);
  for (let waited = 0; waited < patienceMs; waited++) {
    if (file.holds(lineEnd, from)) return true;
    sleep(1);
  }
  return false;
}

/** Enough of a line's end to identify it: most of it is the MAC. */
const LINE_END_BYTES = 36;

/** How long a write in progress may take at shutdown. */
const LANDING_MS = 2000;

/** How long a flood of events may wait for a write in progress. */
const CATCH_UP_MS = 250;

const UNDER_WAY: NodeJS.ErrnoException = Object.assign(new Error(), { code: "a write is still under way" });
