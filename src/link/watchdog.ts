import { type ChildProcess, spawn } from "node:child_process";

/** A small shell that outlives the proxy: when the proxy is killed, it ends the processes that the proxy started. */
export interface Watchdog {
  /** Adds a process group to end. Several may be watched at a time. */
  watch(leader: number): void;
  /** Removes a group that has ended, because its id may be reused. */
  unwatch(leader: number): void;
  /** Ends the watchdog without ending anything else. */
  dismiss(): void;
}

/**
 * Starts a watchdog. It holds one end of a pipe whose other end the proxy holds; however the proxy dies, the pipe
 * closes, and the watchdog ends the child's group and everything that carries the mark. It is a shell, because a second
 * Node would cost forty megabytes. Undefined if there is no shell.
 */
export function startWatchdog(mark: string, onError: (error: Error) => void): Watchdog | undefined {
  if (process.platform === "win32") return undefined; // on Windows the job object that libuv creates does the same
  const leaders = new Set<number>();
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

  /** Restarts a watchdog that was killed, perhaps because the system is short of memory. */
  function replace(): void {
    if (isDismissed) return;
    if (starts > MAX_RESTARTS) return onError(new Error("it was killed too many times"));
    shell = start();
    for (const leader of leaders) shell?.stdin?.write(`${leader}\n`);
  }

  return {
    watch(leader) {
      leaders.add(leader);
      shell?.stdin?.write(`${leader}\n`);
    },
    unwatch(leader) {
      leaders.delete(leader);
      shell?.stdin?.write(`-${leader}\n`);
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
    detached: true, // not in our group, so that signals to the group do not reach it
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
  });
  shell.stdin?.on("error", () => {});
  shell.unref();
  return shell;
}

// Reads ids of groups to watch, and of groups that have ended, until it reads "done" or the pipe closes. Most servers
// exit by themselves when their stdin closes; the others get SIGTERM, and are killed a second later.
//
// `look` finds the same processes as the search in search.ts: those that carry the mark, belong to the group or
// session, or were found before (by process id and start time), and their descendants. It runs before the first signal
// is sent: after their parents have ended, some processes could not be found any more.
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
while read -r word; do
  case "$word" in
    done) exit 0 ;;
    -*) gone="\${word#-}"; case "$groups" in *" $gone "*) groups="\${groups%% $gone *} \${groups#* $gone }" ;; esac ;;
    *) groups="$groups$word " ;;
  esac
done
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
    ours=
    case "$marked$known" in *" $pid "* | *" $pid/\${20} "*) ours=1 ;; esac
    case "$groups" in *" $3 "* | *" $4 "*) ours=1 ;; esac
    if [ -n "$ours" ]; then
      pids="$pids$pid "
      known="$known$pid/\${20} "
    else
      others="$others $pid/\${20}:$2"
    fi
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
for group in $groups; do kill -TERM "-$group"; done
sleep 1
round=0
while [ "$round" -lt 10 ]; do
  look
  if [ "$pids" != ' ' ]; then
    kill -STOP $pids
    look
  fi
  for group in $groups; do kill -KILL "-$group"; done
  [ "$pids" = ' ' ] && break
  kill -KILL $pids
  round=$((round + 1))
  sleep 0.2 || sleep 1
done
`;
