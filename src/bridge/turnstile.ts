/**
 * Keeps messages in order on their way to a server that takes each message in a request of its own. Requests on
 * different connections can overtake each other; on the client's stdio the messages were in order.
 */
export interface Turnstile {
  /**
   * Calls `go` when the messages before this one have been accepted. `go` calls `taken` when the next one may follow.
   */
  enter(bytes: number, go: (taken: () => void) => void): void;
  /** Counts a message that was released but not yet written. Call the returned function when it has been written. */
  leaving(bytes: number): () => void;
  /** Whether so many bytes are waiting or unwritten that the sender should stop. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
}

/** How many bytes may wait before the sender has to stop. */
export const MAX_WAITING_BYTES = 1_048_576;
const MAX_WAITING = 1000;

/** Makes an empty turnstile. */
export function createTurnstile(): Turnstile {
  const waiting: { readonly bytes: number; readonly go: (taken: () => void) => void }[] = [];
  let waitingBytes = 0;
  let leavingBytes = 0;
  let isTaken = true;
  let resumes: (() => void)[] = [];

  function pass(go: (taken: () => void) => void): void {
    isTaken = false;
    let isOnce = false;
    go(() => {
      if (isOnce) return;
      isOnce = true;
      isTaken = true;
      advance();
    });
  }

  let isAdvancing = false;
  function advance(): void {
    if (isAdvancing) return; // a message may be accepted at once: loop instead of recursing
    isAdvancing = true;
    while (isTaken) {
      const next = waiting.shift();
      if (next === undefined) break;
      waitingBytes -= next.bytes;
      pass(next.go);
    }
    isAdvancing = false;
    makeReady();
  }

  function makeReady(): void {
    if (isFull()) return;
    const ready = resumes;
    resumes = [];
    for (const resume of ready) resume();
  }

  function isFull(): boolean {
    return waitingBytes + leavingBytes > MAX_WAITING_BYTES || waiting.length > MAX_WAITING;
  }

  return {
    enter(bytes, go) {
      if (isTaken && waiting.length === 0) return pass(go);
      waiting.push({ bytes, go });
      waitingBytes += bytes;
    },
    leaving(bytes) {
      leavingBytes += bytes;
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        leavingBytes -= bytes;
        makeReady();
      };
    },
    get isFull() {
      return isFull();
    },
    whenReady(resume) {
      if (isFull()) resumes.push(resume);
      else resume();
    },
  };
}
