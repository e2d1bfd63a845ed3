/** What is counted, beside the messages that simply pass. */
export type CountName =
  /** A message that did not simply pass: `verdict` and `rule`. */
  | "message"
  /** A request that was refused for want of permission: `by`, `us` or `server`, and `rule`. */
  | "login"
  /** What a policy that only watches would have done: `action` and `rule`. */
  | "would"
  /** A rule that could not be followed: `rule`. */
  | "failed"
  /** Copies of requests: `outcome`, `same`, `differs` or `skipped`, and `rule`. */
  | "fork"
  /** A number that a rule adds to: `name`. */
  | "metric";

/** What tells one count from others of its name. Every count of a name has the same labels, in the same order. */
export type Labels = Readonly<Record<string, string>>;

/** Numbers that only grow, by name and labels. Rules and verdicts are the policy's and ours, so there are few. */
export interface Counts {
  add(name: CountName, labels: Labels, by: number): void;
  /** The numbers for people, by their texts: `deny strict:too-large`. In the order in which they were first counted. */
  print(): Record<string, number>;
}

interface Count {
  readonly name: CountName;
  readonly labels: Labels;
  total: number;
}

/** Begins to count. */
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
