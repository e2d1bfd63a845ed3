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
  let leader: number | null = null;
  let isDismissed = false;
  let starts = 0;
  let shell: ChildProcess | undefined = start();
  if (shell === undefined) return undefined;

  function start(): ChildProcess | undefined {
    starts++;
    try {
      const started = startShell(mark);
      started.on("error", onError);
      started.on("exit", replace);
      return started;
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  }

  /** Somebody killed it, perhaps a system that is short of memory. */
  function replace(): void {
    if (isDismissed) return;
    if (starts > MAX_RESTARTS) return onError(new Error("it is killed again and again"));
    shell = start();
    if (leader !== null) shell?.stdin?.write(`${leader}\n`);
  }

  return {
    watch(pid) {
      leader = pid;
      shell?.stdin?.write(`${leader}\n`);
    },
    dismiss() {
      isDismissed = true;
      shell?.stdin?.end("done\n");
    },
  };
}

const MAX_RESTARTS = 3;

function startShell(mark: string): ChildProcess {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "fairlead-watchdog", mark], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // not in our group: what is sent to all of that must not reach it
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
  });
  shell.stdin?.on("error", () => {});
  shell.unref();
  return shell;
}

// Reads the group, then waits for the word or for the end of the pipe. A well-mannered server
// ends by itself when its stdin closes; the others are asked, and a second later they are made to.
//
// `look` finds the same processes as the search in search.ts: what carries the mark, belongs to the group
// or session or was found before, by its number and the time of its start, and what descends from those.
// It looks before anybody is asked: with their parents gone, some could not be found any more.
const SCRIPT = `
trap '' HUP INT TERM
read -r group
[ "$group" = done ] && exit 0
read -r word
[ "$word" = done ] && exit 0
mark=$1
known=' '
look() {
  set -- $(grep -las -e "$mark" /proc/[0-9]*/environ | cut -d/ -f3)
  marked=" $* "
  pids=' '
  others=
  for file in /proc/[0-9]*/stat; do
    pid=\${file#/proc/}
    pid=\${pid%/stat}
    stat=
    while IFS= read -r line; do stat="$stat $line"; done <"$file"
    set -- \${stat##*) }
    case "$pid $1" in "$$ "* | *' ' | *[ZX]) continue ;; esac
    case "$marked$known group:$3 group:$4 " in
      *" $pid "* | *" $pid/\${20} "* | *" group:$group "*)
        pids="$pids$pid "
        known="$known$pid/\${20} "
        ;;
      *) others="$others $pid/\${20}:$2" ;;
    esac
  done
  grew=1
  while [ -n "$grew" ]; do
    grew=
    rest=
    for other in $others; do
      case "$pids" in
        *" \${other##*:} "*)
          pids="$pids\${other%%/*} "
          known="$known\${other%:*} "
          grew=1
          ;;
        *) rest="$rest $other" ;;
      esac
    done
    others=$rest
  done
}
look
[ -n "$group" ] && kill -TERM "-$group"
sleep 1
round=0
while [ "$round" -lt 10 ]; do
  look
  if [ "$pids" != ' ' ]; then
    kill -STOP $pids
    look
  fi
  [ -n "$group" ] && kill -KILL "-$group"
  [ "$pids" = ' ' ] && break
  kill -KILL $pids
  round=$((round + 1))
  sleep 0.2 || sleep 1
done
`;
