import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The directory for the tokens of logins. */
export function loginDirectory(env: NodeJS.ProcessEnv): string {
  const base = env["XDG_STATE_HOME"];
  return join(base !== undefined && base !== "" ? base : join(homedir(), ".local", "state"), "fairlead", "logins");
}

/** Whether the user has ever logged in. Only then the login code is loaded. */
export function hasLogin(directory: string): boolean {
  return existsSync(directory);
}
