import { PLAIN, type Plan, type Setting, type Step } from "./plan.ts";

/** Whether a plan still goes wrong in the way that is looked for. */
export type StillFails = (plan: Plan) => Promise<boolean>;

/** Makes a plan that goes wrong as short and as plain as it can be. Gives up looking when the time is over. */
export async function shrink(plan: Plan, stillFails: StillFails, limitMs: number): Promise<Plan> {
  const until = performance.now() + limitMs;
  const tries = async (candidate: Plan): Promise<boolean> =>
    performance.now() < until && JSON.stringify(candidate) !== JSON.stringify(plan) && stillFails(candidate);
  let best = plan;
  for (let before = ""; before !== JSON.stringify(best) && performance.now() < until;) {
    before = JSON.stringify(best);
    best = await cutSteps(best, tries);
    best = await plainer(best, tries);
  }
  return best;
}

/** Leaves out as many steps as possible: halves first, then ever smaller pieces. */
async function cutSteps(plan: Plan, fails: StillFails): Promise<Plan> {
  const { setting } = plan;
  let { steps } = plan;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = steps.length - size; from >= 0; from -= size) {
      const fewer = steps.toSpliced(from, size);
      if (await fails({ setting, steps: fewer })) steps = fewer;
    }
  }
  return { setting, steps };
}

/** Puts plain values in the place of odd ones, where it goes wrong all the same. */
async function plainer(plan: Plan, fails: StillFails): Promise<Plan> {
  let best = plan;
  for (const setting of plainerSettings(best.setting)) {
    const candidate = { ...best, setting: { ...best.setting, ...setting } };
    if (await fails(candidate)) best = candidate;
  }
  for (let index = 0; index < best.steps.length; index++) {
    for (const step of plainerSteps(best.steps[index])) {
      const candidate = { ...best, steps: best.steps.with(index, step) };
      if (await fails(candidate)) best = candidate;
    }
  }
  return best;
}

function plainerSettings(setting: Setting): Partial<Setting>[] {
  const { client: _client, server: _server, era: _era, ...plain } = PLAIN;
  return Object.entries(plain).flatMap(([name, value]) =>
    setting[name as keyof Setting] === value ? [] : [{ [name]: value }],
  );
}

/** The same step with one member that is plainer. */
function plainerSteps(step: Step): Step[] {
  if (step.do === "batch")
    return step.asks
      .flatMap((_, index) => [{ ...step, asks: step.asks.toSpliced(index, 1) }])
      .filter(({ asks }) => asks.length > 0);
  return Object.entries(step).flatMap(([name, value]): Step[] => {
    if (name === "where" && step.do !== "reply" && step.do !== "again") return [];
    return plainValue(name, value).map((each) => Object.assign({}, step, { [name]: each }));
  });
}

function plainValue(name: string, value: unknown): unknown[] {
  if (name === "do") return [];
  if (name === "where") return value === -1 ? [] : [-1, ...smaller(Number(value))];
  if (name === "status") return value === 200 ? [] : [200];
  if (name === "as") return value === "event" ? [] : ["event"];
  if (name === "kind" && typeof value === "string") return value === "result" ? [] : ["result"];
  if (name === "id")
    return (value as { from: string }).from === "fresh"
      ? []
      : [
          { from: "fresh", nth: 0 },
          { ...(value as object), nth: 0 },
        ];
  if (typeof value === "number") return smaller(value);
  return value === true ? [false] : [];
}

function smaller(value: number): number[] {
  return value === 0
    ? []
    : [...new Set([0, 1, Math.floor(value / 2), value - 1])].filter((each) => each < value && each >= 0);
}
