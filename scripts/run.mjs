// Installs and builds what is needed, then runs a TypeScript program of the project.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build, install, root } from "./setup.mjs";

install();
build();
const [program, ...args] = process.argv.slice(2);
const tsx = join(root, "node_modules", "tsx", "dist", "cli.mjs");
const { status } = spawnSync(process.execPath, [tsx, join(root, program), ...args], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
