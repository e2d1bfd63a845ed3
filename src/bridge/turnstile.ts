/**
 * Keeps messages in order on their way to a server that takes each by a request of its own. Requests over different
 * connections overtake each other; on the line that the messages came by they could not.
 */
export interface Turnstile {
  /** Lets a message go when those before it have been taken. `go` says when the next may follow. */
  enter(bytes: number, go: (taken: () => void) => void): void;
  /** Says that a message has been let go, and has not left yet. Returns how to say that it has. */
  leaving(bytes: number): () => void;
  /** Whether so much waits, or has not left, that no more should come. */
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
}

/** How much may wait before those who bring it have to wait too. */
export const MAX_WAITING_BYTES = 1_048_576;
const MAX_WAITING = 1000;

/** Makes a turnstile. */
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
    if (isAdvancing) return; // whoever goes may be taken at once: no deeper with each
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
