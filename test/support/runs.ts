/** Whether every proof is made at full length, as `npm run test:full` does. */
export const isFull = process.env["FAIRLEAD_TESTS"] === "full";

/**
 * How often a property is tried. `npm test` tries it a fifth as often as `npm run test:full`, and always with the same
 * values.
 */
export function runs(full: number): number {
  return isFull ? full : Math.ceil(full / 5);
}
