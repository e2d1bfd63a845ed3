declare const FAIRLEAD_VERSION: string | undefined;

/** The version of this package, which the build fills in. */
export function version(): string {
  return typeof FAIRLEAD_VERSION === "string" ? FAIRLEAD_VERSION : "0.0.0-source";
}
