let leaving: (() => void)[] = [];

/**
 * Lets something leave when all that has come in now has been looked at. Many writes to one program in a row wake it up
 * once; each after some work of ours would wake it up each time.
 */
export function leaveTogether(leave: () => void): void {
  if (leaving.length === 0) setImmediate(leaveNow);
  leaving.push(leave);
}

function leaveNow(): void {
  const all = leaving;
  leaving = [];
  for (const leave of all) leave();
}
