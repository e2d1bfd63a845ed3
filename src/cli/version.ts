declare const FAIRLEAD_VERSION: string | undefined;

/** The version of this package, put in when the command is built. */
export function version(): string {
  return typeof FAIRLEAD_VERSION === "string" ? FAIRLEAD_VERSION : "0.0.0-source";
}
