/** The names of counters, other than the number of forwarded messages. */
export type CountName =
  /** A message that was not simply forwarded: `verdict` and `rule`. */
  | "message"
  /** A request that was refused with 401 or 403: `by` (`us` or `server`) and `rule`. */
  | "login"
  /** What a policy in observe mode would have done: `action` and `rule`. */
  | "would"
  /** A rule that could not be carried out: `rule`. */
  | "failed"
  /** Copies of requests: `outcome`, `same`, `differs` or `skipped`, and `rule`. */
  | "fork"
  /** A number that a rule increments: `name`. */
  | "metric";

/** The labels of a counter. All counters of a name have the same labels, in the same order. */
export type Labels = Readonly<Record<string, string>>;

/**
 * Counters that only grow, by name and labels. There are few, because rules and verdicts come from the policy and the
 * proxy.
 */
export interface Counts {
  add(name: CountName, labels: Labels, by: number): void;
  /** The numbers for people, such as `deny strict:too-large`, in the order in which they were first counted. */
  print(): Record<string, number>;
}

interface Count {
  readonly name: CountName;
  readonly labels: Labels;
  total: number;
}

/** Makes an empty set of counters. */
export function createCounts(): Counts {
  const counts = new Map<string, Count>();
  return {
    add(name, labels, by) {
      let key: string = name;
      for (const label in labels) key += `\0${labels[label]}`;
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { name, labels, total: by });
      else known.total += by;
    },
    print() {
      const printed: Record<string, number> = {};
      for (const { name, labels, total } of counts.values()) {
        const text = textOf(name, labels);
        printed[text] = (printed[text] ?? 0) + total;
      }
      return printed;
    },
  };
}

function textOf(name: CountName, labels: Labels): string {
  switch (name) {
    case "message":
      return Object.values(labels).join(" ");
    case "login":
      return labels["by"] === "us" ? `deny ${labels["rule"]}` : "login refused by the server";
    case "would":
    case "failed":
    case "fork":
    case "metric":
      return [name, ...Object.values(labels)].join(" ");
  }
}
