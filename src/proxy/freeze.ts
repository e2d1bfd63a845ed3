/** Freezes a plain value deeply. */
export function freezeDeeply<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freezeDeeply(member);
  return Object.freeze(value);
}
