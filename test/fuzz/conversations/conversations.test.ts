import { expect, test } from "vitest";
import { testSeed } from "../random.ts";
import { converse, describeConversations } from "./conversations.ts";
import { isFull } from "../../support/runs.ts";

const SECONDS = isFull ? 60 : 8;
const SHRINK_SECONDS = 60;

test(
  "no generated conversation shows what policy hides, leaves a request without an answer, answers twice or hangs",
  { timeout: 240_000 },
  async () => {
    const started = performance.now();
    const report = await converse({
      seed: testSeed(),
      seconds: SECONDS,
      conversations: Infinity,
      shrinkSeconds: SHRINK_SECONDS,
    });
    const text = describeConversations(report, performance.now() - started);
    console.info(text);
    expect(report.found, text).toBeNull();
    // A run that took only a few ways would have shown little.
    const pairs = [...report.pairs.keys()].join("\n");
    for (const pair of ["stdio to stdio", "stdio to http", "http to stdio", "http to http"])
      expect(pairs).toContain(`${pair}, stateful`);
    expect(pairs).toContain(", stateless");
    for (const step of ["ask", "reply", "cancel", "again", "resume", "leave", "reload", "fill", "batch"])
      expect(report.steps.get(step) ?? 0, `${step} in ${text}`).toBeGreaterThan(0);
  },
);
