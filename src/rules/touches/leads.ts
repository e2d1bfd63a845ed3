import { type Budget, canBeSame, type Name, spendSteps } from "./names.ts";
import type { TouchPattern } from "./patterns.ts";
import type { Place } from "./places.ts";

/** A pattern that places are compared with. */
export interface Target extends Omit<TouchPattern, "needle" | "bare"> {
  /** Whether only the place itself matches, and not what is below it. */
  readonly isExact?: boolean;
}

/** Whether a place may match a pattern or be below a match. */
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

// A state is a position in the pattern, and whether some literal name of the pattern has been matched so far. The
// position after the end is for a place that matches the whole pattern but below which nothing matches.

function stateOf(place: number, met: boolean): number {
  return place * 2 + (met ? 1 : 0);
}

function placeIn(state: number): number {
  return state >> 1;
}

function hasMet(state: number): boolean {
  return (state & 1) === 1;
}

/** Adds the states that one name of the message leads to. */
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
    // It may match any number of the remaining names.
    const meetsAny = isRooted && !name.isVariable;
    for (let to = place; to <= names.length; to++) {
      const isOver = to === names.length && !names[to - 1].isDeep;
      next.add(stateOf(isOver ? to + 1 : to, met || (meetsAny && to > place)));
    }
    return;
  }
  const wanted = names[place];
  if (wanted.isDeep || !canBeSame(wanted, name, budget)) return;
  // If only a wildcard stands for the last name, places below it do not match: they could be in any directory.
  const isOver = place + 1 === names.length && (isExact || !name.hasLiteral);
  const meets = wanted.hasLiteral && (name.hasLiteral || isRooted);
  next.add(stateOf(isOver ? names.length + 1 : place + 1, met || meets));
}

/** Adds the states that can be reached without a name, because `**` may match nothing. */
function skipDeep(names: readonly Name[], states: Set<number>): Set<number> {
  for (const state of states) if (names.at(placeIn(state))?.isDeep) states.add(state + 2);
  return states;
}

interface Begun {
  readonly names: readonly Name[];
  readonly states: Set<number>;
  /** Whether both begin at the root. Then a wildcard in the message counts as a match for a name of the pattern. */
  readonly isRooted: boolean;
}

/** The positions in the pattern at which the names of a place may begin. Null if there are none. */
function begin({ start, names }: Pick<TouchPattern, "start" | "names">, place: Place): Begun | null {
  const whole = (met: boolean, isRooted: boolean): Begun => {
    return { names: place.names, states: new Set([stateOf(0, met)]), isRooted };
  };
  if (place.start === "home" && start === "home") return whole(true, false);
  // A place with nothing but wildcards is ignored: `/*` begins a comment, and `*` is also a multiplication sign.
  const first = place.names.findIndex(({ hasLiteral }) => hasLiteral);
  if (first < 0) return null;
  if (place.start === start) return whole(false, start === "root");
  const isKnown = place.start !== "somewhere" && place.start !== "home";
  if (isKnown) return start === "anywhere" ? whole(false, false) : null;
  // A link may be written without its scheme, but not without the beginning of its host.
  if (start !== "root" && start !== "home" && start !== "anywhere")
    return start === "web" && first === 0 ? whole(false, false) : null;
  // A relative path begins in an unknown directory: it may be any directory above the one in the pattern. Wildcards at
  // its beginning stand for such directories.
  const states = new Set([stateOf(0, false)]);
  if (!place.isBare) for (let at = 1; at < names.length; at++) states.add(stateOf(at, false));
  return { names: place.names.slice(first), states, isRooted: false };
}
