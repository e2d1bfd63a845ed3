// Loaded before the command where memory is weighed: collects all garbage when told to by a signal.
process.on("SIGUSR2", () => globalThis.gc());
