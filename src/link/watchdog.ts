import { type ChildProcess, spawn } from "node:child_process";

/** A small shell that outlives us by a moment: when we are killed, it ends what we started. */
export interface Watchdog {
  /** Tells it whose group to end. */
  watch(leader: number): void;
  /** All is over: it may go without doing anything. */
  dismiss(): void;
}

/**
 * Starts a watchdog. It holds one end of a pipe whose other end is ours; however we die, the pipe
 * closes, and it ends the child's group and whatever carries the mark. A shell, because a second
 * Node would cost forty megabytes. Undefined where there is no shell to be had.
 */
export function startWatchdog(mark: string, onError: (error: Error) => void): Watchdog | undefined {
  if (process.platform === "win32") return undefined; // there the job object that libuv makes does it
  let shell: ChildProcess;
  try {
    shell = spawn("/bin/sh", ["-c", SCRIPT, "fairlead-watchdog", mark], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true, // not in our group: what is sent to all of that must not reach it
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
    });
  } catch (error) {
    onError(error as Error);
    return undefined;
  }
  shell.on("error", onError);
  shell.stdin?.on("error", () => {});
  shell.unref();
  return {
    watch(leader) {
      shell.stdin?.write(`${leader}\n`);
    },
    dismiss() {
      shell.stdin?.end("done\n");
    },
  };
}

// Reads the group, then waits for the word or for the end of the pipe. A well-mannered server
// ends by itself when its stdin closes; the others are asked, and a second later they are made to.
const SCRIPT = `
trap '' HUP INT TERM
read -r group
[ "$group" = done ] && exit 0
read -r word
[ "$word" = done ] && exit 0
marked() { grep -las -e "$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }
[ -n "$group" ] && kill -TERM "-$group" 2>/dev/null
sleep 1
[ -n "$group" ] && kill -KILL "-$group" 2>/dev/null
round=0
while [ "$round" -lt 10 ]; do
  pids=$(marked "$1")
  [ -z "$pids" ] && break
  kill -KILL $pids 2>/dev/null
  round=$((round + 1))
  sleep 0.2 2>/dev/null || sleep 1
done
`;
