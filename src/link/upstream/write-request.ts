import type { Socket } from "node:net";

/**
 * Writes a request, with head and body in one write if the body is small. `sent` is called when the body is not needed
 * any more.
 */
export function writeRequest(socket: Socket, head: string, body: Buffer | null, sent: () => void): void {
  if (body === null || body.length === 0) socket.write(head, "latin1");
  else if (body.length > MAX_JOINED_BYTES) {
    socket.cork();
    socket.write(head, "latin1");
    socket.write(body, sent);
    socket.uncork();
    return;
  } else {
    const bytes = Buffer.allocUnsafe(head.length + body.length);
    bytes.write(head, 0, "latin1");
    body.copy(bytes, head.length);
    socket.write(bytes);
  }
  sent();
}

/** Larger bodies are not copied. */
const MAX_JOINED_BYTES = 65_536;
