/** Why something failed, in few words. */
export function reasonOf(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON_CHARACTERS);
  } catch {
    return "without a reason"; // what was thrown throws when it is looked at
  }
}

const MAX_REASON_CHARACTERS = 500;
