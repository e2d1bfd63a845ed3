// The minimal relay in Node: it forwards bytes without reading them.
const { spawn } = require("node:child_process");

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
process.stdin.pipe(child.stdin);
child.stdout.pipe(process.stdout);
child.on("exit", () => process.stdin.destroy());
