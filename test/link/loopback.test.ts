import { expect, test } from "vitest";
import { isLoopback } from "../../src/link/loopback.ts";

test.each([
  "localhost",
  "127.0.0.1",
  "127.255.255.254",
  "::1",
  "[::1]",
  "0:0:0:0:0:0:0:1",
  "::ffff:127.0.0.1",
  "[::ffff:7f00:1]",
])("%s is this machine", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  "",
  "example",
  "localhost.example",
  "[localhost]",
  "LOCALHOST.",
  "127.0.0.1.example",
  "127.0.0.256",
  "127.1",
  "0177.0.0.1",
  "0.0.0.0",
  "::",
  "10.0.0.1",
  "128.0.0.1",
  "::2",
  "::ffff:10.0.0.1",
  "::127.0.0.1",
  "[::1",
  "::1]",
  "[[::1]]",
])("%j may be another", (host) => {
  expect(isLoopback(host)).toBe(false);
});
