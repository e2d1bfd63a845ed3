import { defineConfig } from "vitest/config";

/** Through the built command, with real processes, and not in a hurry: two files at a time. */
const PATIENT = [
  "cases",
  "check",
  "command",
  "config",
  "docs",
  "http-cases",
  "http-door",
  "http-faults",
  "http-trust",
  "manners",
  "names",
  "package",
  "pairs-clients",
  "pairs-filter",
  "pairs-login",
  "pairs-modern",
  "peers-filter",
  "peers-mcporter",
  "pinning",
  "policies",
  "peers-modern",
  "peers-servers",
  "peers-spelling",
  "reload",
  "rules",
].map((name) => `test/e2e/${name}.test.ts`);

const SLOW = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    reporters: ["default"],
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/peers/**", "test/conformance/**"],
          // The machine is small, and others may be at work on it.
          testTimeout: 30_000,
          setupFiles: ["test/support/setup.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: { name: "e2e-patient", include: PATIENT, ...SLOW, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
      {
        test: {
          // The same, but these measure time: one file after the other.
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: PATIENT,
          ...SLOW,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
