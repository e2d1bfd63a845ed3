import type { ResponseSink } from "../../wire/http-response.ts";
import { maskHeaders, maskPath, nameConnection, type Tap } from "../../wire/tap.ts";

/** Reports one request to a server, and its response, to a tap. */
export interface TappedRequest {
  /** Call when the request is sent. `headers` are lines, each with its CRLF. */
  sent(method: string, path: string, headers: string, body: Buffer | null): void;
  /** Wraps a response sink so that the tap sees the response too. */
  watch(sink: ResponseSink): ResponseSink;
}

/** Connects a tap to one request, each time it is sent. */
export function tapRequest(tap: Tap): TappedRequest {
  const connection = nameConnection("http");
  return {
    sent(method, path, headers, body) {
      const raw = Array.from(headers.matchAll(/^([^:\r\n]+):[ \t]*(.*)\r\n/gm), ([, name, value]) => [name, value]);
      tap.head("server", "out", connection, { method, path: maskPath(path), headers: maskHeaders(raw.flat()) });
      if (body !== null && body.length > 0) tap.bytes("server", "out", connection, body);
    },
    watch: (sink) => ({
      head(head) {
        tap.head("server", "in", connection, { status: head.status, headers: maskHeaders(head.headers) });
        sink.head(head);
      },
      body(bytes) {
        tap.bytes("server", "in", connection, bytes);
        sink.body(bytes);
      },
      done(reusable) {
        tap.end("server", connection);
        sink.done(reusable);
      },
      fault(reason) {
        tap.end("server", connection);
        sink.fault(reason);
      },
    }),
  };
}
