/** Messages from a server that wait for a stream to the client. */
export interface MessageQueue {
  /** Adds a message. False if there is no room for it. */
  add(message: Buffer): boolean;
  /** Removes and returns all messages, in order. */
  take(): Buffer[];
}

const MAX_QUEUED = 100;
const MAX_QUEUED_BYTES = 1_048_576;

/** Makes an empty queue. */
export function createMessageQueue(): MessageQueue {
  let queue: Buffer[] = [];
  let bytes = 0;
  return {
    add(message) {
      if (queue.length >= MAX_QUEUED || bytes + message.length > MAX_QUEUED_BYTES) return false;
      queue.push(message);
      bytes += message.length;
      return true;
    },
    take() {
      const waiting = queue;
      queue = [];
      bytes = 0;
      return waiting;
    },
  };
}
