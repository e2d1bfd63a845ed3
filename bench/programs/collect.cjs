// Loaded before the command when memory is measured: collects all garbage on a signal.
process.on("SIGUSR2", () => globalThis.gc());
