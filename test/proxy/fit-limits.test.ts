import { expect, test } from "vitest";
import { descriptorLimit } from "../../src/link/descriptors.ts";
import { fitLimits } from "../../src/proxy/fit-limits.ts";
import { DEFAULT_LIMITS } from "../../src/proxy/limits.ts";

test("where there are descriptors enough, or nobody knows how many, the limits stay", () => {
  expect(fitLimits(DEFAULT_LIMITS, false, 1_048_576)).toEqual(DEFAULT_LIMITS);
  expect(fitLimits(DEFAULT_LIMITS, true, 1_048_576)).toEqual(DEFAULT_LIMITS);
  expect(fitLimits(DEFAULT_LIMITS, false, null)).toEqual(DEFAULT_LIMITS);
});

test("clients and the server at a URL share the descriptors", () => {
  const { maxConnections, maxUpstreamConnections } = fitLimits(DEFAULT_LIMITS, false, 1024);
  expect([maxConnections, maxUpstreamConnections]).toEqual([480, 480]);
  expect(maxConnections + maxUpstreamConnections).toBeLessThan(1024);
});

test("clients and processes share them, and processes have a quarter at the most", () => {
  const { maxConnections, maxChildren } = fitLimits(DEFAULT_LIMITS, true, 256);
  expect([maxConnections, maxChildren]).toEqual([144, 12]);
});

test("with hardly any there is still somebody who gets in", () => {
  expect(fitLimits(DEFAULT_LIMITS, false, 32)).toMatchObject({ maxConnections: 4, maxUpstreamConnections: 4 });
  expect(fitLimits(DEFAULT_LIMITS, true, 32)).toMatchObject({ maxConnections: 4, maxChildren: 1 });
});

test("a limit that somebody has set lower stays", () => {
  expect(fitLimits({ ...DEFAULT_LIMITS, maxConnections: 7 }, false, 1024).maxConnections).toBe(7);
});

test.skipIf(process.platform !== "linux")("Linux says how many descriptors there are", () => {
  expect(descriptorLimit()).toBeGreaterThan(16);
});
