/** The message of an error, shortened. */
export function reasonOf(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON_CHARACTERS);
  } catch {
    return "without a reason"; // the thrown value itself throws when it is read
  }
}

const MAX_REASON_CHARACTERS = 500;
