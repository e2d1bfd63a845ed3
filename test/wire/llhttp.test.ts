import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createResponseReader } from "../../src/wire/http-response.ts";

/** What llhttp makes of the inputs of its own tests. The file says where they are from; derive.mjs beside it made it. */
interface Corpus {
  readonly cases: readonly Case[];
}

interface Case {
  readonly name: string;
  readonly input: string;
  readonly responses: readonly { readonly status: number; readonly bodyBytes: number; readonly isComplete: boolean }[];
  readonly error: string | null;
}

const { cases } = JSON.parse(
  readFileSync(new URL("../fixtures/llhttp/responses.json", import.meta.url), "utf8"),
) as Corpus;

/** What llhttp accepts and our reader refuses, with the reason why. */
const STRICTER: Readonly<Record<string, string>> = {
  "connection.md: HTTP 100 first, then 400": "no empty line may stand before a status line",
  "sample.md: Response starting with CRLF": "no empty line may stand before a status line",
  "sample.md: RTSP response": "the protocol is HTTP",
  "sample.md: ICE response": "the protocol is HTTP",
  "sample.md: HTTP version 0.9": "HTTP/0.9 has no status line",
  "transfer-encoding.md: `chunked` before other transfer-encoding": "RFC 9112, 6.1: chunked is the last encoding",
  "transfer-encoding.md: multiple transfer-encoding where chunked is not the last one":
    "RFC 9112, 6.1: chunked is the last encoding",
  "transfer-encoding.md: `chunkedchunked` transfer-encoding does not enable chunked enconding":
    "a transfer encoding that we do not know hides where the body ends",
};

/** Reads the first response that is not an interim one, pushed in pieces of this size. */
function read(bytes: Buffer, size: number) {
  const heard = { status: 0, bodyBytes: 0, isComplete: false, isReusable: false, fault: null as string | null };
  const reader = createResponseReader();
  reader.expect(
    {
      head: ({ status }) => void (heard.status = status),
      body: ({ length }) => void (heard.bodyBytes += length),
      done: (isReusable) => void Object.assign(heard, { isComplete: true, isReusable }),
      fault: (reason) => void (heard.fault = reason),
    },
    "GET",
  );
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  return { ...heard, end: () => reader.end(), now: () => heard };
}

test("the corpus is there", () => {
  expect(cases.length).toBeGreaterThan(60);
});

test.each(cases)("reads like llhttp, or more strictly: $name", ({ name, input, responses, error }) => {
  const bytes = Buffer.from(input);
  const wanted = responses.find(({ status }) => status >= 200);
  for (const size of [bytes.length, 1, 7]) {
    const reading = read(bytes, Math.max(1, size));
    if (STRICTER[name] !== undefined || wanted === undefined || (error !== null && !wanted.isComplete)) {
      reading.end();
      const { fault, isComplete } = reading.now();
      expect(isComplete).toBe(false);
      expect(fault).not.toBeNull();
      // A case that is not refused any more does not belong into the list.
      continue;
    }
    const { fault, status, bodyBytes, isComplete } = reading;
    expect({ fault, status, isComplete }).toEqual({
      fault: null,
      status: wanted.status,
      isComplete: wanted.isComplete,
    });
    expect(bodyBytes).toBe(wanted.bodyBytes);
    // Nothing that follows a whole response may be taken for the answer to the next request.
    const isAlone = responses.filter(({ status: each }) => each >= 200).length === 1 && error === null;
    if (isComplete && size === bytes.length && !isAlone) expect(reading.isReusable).toBe(false);
  }
});
