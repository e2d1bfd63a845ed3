import { createMemoryAnswers } from "../../src/store/answers.ts";
import { createMemoryInputs } from "../../src/store/inputs.ts";
import { createMemoryLimits } from "../../src/store/limits.ts";
import { createMemorySessions } from "../../src/store/sessions.ts";
import { createMemoryTasks } from "../../src/store/tasks.ts";
import { createWire, lateParts } from "../support/late-store.ts";
import { describeStore } from "./contract.ts";

describeStore("in memory", {
  limits: createMemoryLimits,
  answers: createMemoryAnswers,
  sessions: createMemorySessions,
  tasks: createMemoryTasks,
  inputs: createMemoryInputs,
});

describeStore("that answers later, in any order", lateParts(createWire({ random: Math.random })));
