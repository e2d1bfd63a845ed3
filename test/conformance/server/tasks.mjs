import { randomUUID } from "node:crypto";

const TTL_MS = 60_000;
const POLL_MS = 100;

/** The tasks of the server: calls that go on after they were answered, and can be asked about. */
export function createTasks() {
  const tasks = new Map();

  return {
    /** Begins a task. `work` gets a signal, and `ask` to wait for answers from the client. */
    create(work) {
      const abort = new AbortController();
      const task = {
        id: randomUUID(),
        created: now(),
        updated: now(),
        status: "working",
        open: {},
        answers: {},
        abort,
      };
      tasks.set(task.id, task);
      void settle(task, () => work({ signal: abort.signal, ask: (requests) => ask(task, requests) }));
      return describe(task);
    },

    /** What a task looks like now, with its result, its error or its questions; undefined if there is none. */
    get(id) {
      const task = tasks.get(id);
      if (task === undefined) return undefined;
      const { status, result, error, open } = task;
      return {
        ...describe(task),
        ...(status === "completed" && { result }),
        ...(status === "failed" && { error }),
        ...(status === "input_required" && { inputRequests: open }),
      };
    },

    /** Answers some of a task's questions. It goes on when none is open. */
    update(id, responses = {}) {
      const task = tasks.get(id);
      for (const [key, response] of Object.entries(responses)) {
        if (!Object.hasOwn(task.open, key)) continue;
        delete task.open[key];
        task.answers[key] = response;
      }
      if (task.status === "input_required" && Object.keys(task.open).length === 0) {
        change(task, { status: "working" });
        task.answered();
      }
    },

    cancel(id) {
      const task = tasks.get(id);
      if (!isOver(task)) change(task, { status: "cancelled" });
      task.abort.abort();
    },
  };
}

function ask(task, requests) {
  change(task, { status: "input_required", open: requests });
  return new Promise((resolve) => {
    task.answered = () => resolve(task.answers);
  });
}

// A task that was cancelled stays so, whatever comes of it.
async function settle(task, work) {
  try {
    const result = await work();
    if (!isOver(task)) change(task, { status: "completed", result });
  } catch (error) {
    if (!isOver(task))
      change(task, { status: "failed", error: { code: error.code ?? -32603, message: error.message } });
  }
}

function isOver({ status }) {
  return status !== "working" && status !== "input_required";
}

function change(task, what) {
  Object.assign(task, what, { updated: now() });
}

function describe({ id, status, created, updated }) {
  return {
    taskId: id,
    status,
    createdAt: created,
    lastUpdatedAt: updated,
    ttlMs: TTL_MS,
    pollIntervalMs: POLL_MS,
  };
}

function now() {
  return new Date().toISOString();
}
