// The usual relay that reads messages: it keeps a line until it is complete, parses it, and forwards it.
const { spawn } = require("node:child_process");

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
relay(process.stdin, child.stdin);
relay(child.stdout, process.stdout);
child.on("exit", () => process.stdin.destroy());

function relay(source, target) {
  let pieces = [];
  source.on("data", (chunk) => {
    let start = 0;
    for (;;) {
      const newline = chunk.indexOf(0x0a, start);
      if (newline < 0) break;
      pieces.push(chunk.subarray(start, newline + 1));
      const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      start = newline + 1;
      JSON.parse(line.toString("utf8"));
      if (!target.write(line)) wait(source, target);
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  });
  source.on("end", () => target.end());
}

function wait(source, target) {
  if (source.isPaused()) return;
  source.pause();
  target.once("drain", () => source.resume());
}
