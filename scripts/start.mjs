// npm start: the demo, or with arguments the command itself.
import { spawn } from "node:child_process";
import { build, command, install } from "./setup.mjs";

install();
build();
const args = process.argv.slice(2);
const child = spawn(process.execPath, [command, ...(args.length === 0 ? ["demo"] : args)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal === null ? code : 1));
