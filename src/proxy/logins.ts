import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where the tokens of logins are kept. */
export function loginDirectory(env: NodeJS.ProcessEnv): string {
  const base = env["XDG_STATE_HOME"];
  return join(base !== undefined && base !== "" ? base : join(homedir(), ".local", "state"), "fairlead", "logins");
}

/** Whether anybody has ever logged in: only then is it worth loading what can tell. */
export function hasLogin(directory: string): boolean {
  return existsSync(directory);
}
