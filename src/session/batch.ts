import { eachElement } from "../message/members.ts";
import type { Message } from "../message/message.ts";

/** A batch with more messages is refused, and so is an empty one. */
const MAX_BATCH = 100;

/** Whether a batch has an allowed number of messages. */
export function isBatch({ bytes, start, end }: Message): boolean {
  let length = 0;
  eachElement(bytes, { start: bytes.indexOf("[", start), end }, () => ++length <= MAX_BATCH);
  return length > 0 && length <= MAX_BATCH;
}
