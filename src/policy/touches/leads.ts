import { type Budget, canBeSame, type Name, spendSteps } from "./names.ts";
import type { TouchPattern } from "./patterns.ts";
import type { Place } from "./places.ts";

/** What places are compared with. */
export interface Target extends Omit<TouchPattern, "needle" | "bare"> {
  /** Whether what is below it does not count. */
  readonly isExact?: boolean;
}

/** Whether a place may be one that a pattern speaks of, or below it. */
export function leadsTo(pattern: Target, place: Place, budget: Budget): boolean {
  if (pattern.drive !== null && place.drive !== null && pattern.drive !== place.drive) return false;
  if (place.isBare && (pattern.start !== "anywhere" || pattern.isHome)) return false;
  const begun = begin(pattern, place);
  if (begun === null) return false;
  const { names } = pattern;
  spendSteps(budget, names.length);
  let states = skipDeep(names, begun.states);
  for (const name of begun.names) {
    spendSteps(budget, states.size + 1);
    const next = new Set<number>();
    for (const state of states) step(pattern, state, name, begun.isRooted, next, budget);
    if (next.size === 0) return false;
    states = skipDeep(names, next);
  }
  for (const state of states) if (hasMet(state) && placeIn(state) >= names.length) return true;
  return false;
}

// A state is a place in the pattern, and whether a name of the message has met a name of the pattern so far. One past
// the end is for a place that is as the pattern says, and below which nothing is meant.

function stateOf(place: number, met: boolean): number {
  return place * 2 + (met ? 1 : 0);
}

function placeIn(state: number): number {
  return state >> 1;
}

function hasMet(state: number): boolean {
  return (state & 1) === 1;
}

/** Adds where one name of the message leads from a state. */
function step(
  { names, isExact = false }: Target,
  state: number,
  name: Name,
  isRooted: boolean,
  next: Set<number>,
  budget: Budget,
): void {
  const [place, met] = [placeIn(state), hasMet(state)];
  if (place > names.length) return;
  if (place === names.length || names[place].isDeep) next.add(state);
  if (place === names.length) return;
  if (name.isDeep) {
    // It may stand for any of the names that are left.
    const meetsAny = isRooted && !name.isVariable;
    for (let to = place; to <= names.length; to++) {
      const isOver = to === names.length && !names[to - 1].isDeep;
      next.add(stateOf(isOver ? to + 1 : to, met || (meetsAny && to > place)));
    }
    return;
  }
  const wanted = names[place];
  if (wanted.isDeep || !canBeSame(wanted, name, budget)) return;
  // What is below something that only a wildcard stands for is below any directory.
  const isOver = place + 1 === names.length && (isExact || !name.hasLiteral);
  const meets = wanted.hasLiteral && (name.hasLiteral || isRooted);
  next.add(stateOf(isOver ? names.length + 1 : place + 1, met || meets));
}

/** With what can be reached without a name: `**` may stand for nothing. */
function skipDeep(names: readonly Name[], states: Set<number>): Set<number> {
  for (const state of states) if (names.at(placeIn(state))?.isDeep) states.add(state + 2);
  return states;
}

interface Begun {
  readonly names: readonly Name[];
  readonly states: Set<number>;
  /** Whether both begin at the root: then a wildcard stands for a name of the pattern as well as a letter does. */
  readonly isRooted: boolean;
}

/** Where in the pattern the names of a place may begin. Null where they cannot. */
function begin({ start, names }: Pick<TouchPattern, "start" | "names">, place: Place): Begun | null {
  const whole = (met: boolean, isRooted: boolean): Begun => {
    return { names: place.names, states: new Set([stateOf(0, met)]), isRooted };
  };
  if (place.start === "home" && start === "home") return whole(true, false);
  // What has nothing but wildcards names nothing: `/*` begins a comment, and a star is a sign for times.
  const first = place.names.findIndex(({ hasLiteral }) => hasLiteral);
  if (first < 0) return null;
  if (place.start === start) return whole(false, start === "root");
  const isKnown = place.start !== "somewhere" && place.start !== "home";
  if (isKnown) return start === "anywhere" ? whole(false, false) : null;
  // The host of a link may stand without its scheme, but not without its beginning.
  if (start !== "root" && start !== "home" && start !== "anywhere")
    return start === "web" && first === 0 ? whole(false, false) : null;
  // A relative path begins in a directory that nobody knows: any of those above the one that must not be touched.
  // Wildcards at its beginning are such directories.
  const states = new Set([stateOf(0, false)]);
  if (!place.isBare) for (let at = 1; at < names.length; at++) states.add(stateOf(at, false));
  return { names: place.names.slice(first), states, isRooted: false };
}
