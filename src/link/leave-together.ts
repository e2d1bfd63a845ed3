let leaving: (() => void)[] = [];

/**
 * Runs a write after all input received so far has been processed. Many writes in a row wake up the receiving program
 * once; writes with other work between them would wake it up each time.
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
