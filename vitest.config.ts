import { defineConfig } from "vitest/config";

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
        },
      },
      {
        test: {
          // Through the built command, with real processes.
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // The machine is small and some of these measure time: one file after the other.
          fileParallelism: false,
        },
      },
    ],
  },
});
