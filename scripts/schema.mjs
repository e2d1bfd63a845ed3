// npm run schema: writes the JSON Schema of policy files, made from the tables that read them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { install, root, runTool } from "./setup.mjs";

install();
const { register } = await import("tsx/esm/api");
register();
const { composeJsonSchema } = await import("../src/config/json-schema.ts");
const file = join(root, "schema", "fairlead.schema.json");
mkdirSync(join(root, "schema"), { recursive: true });
writeFileSync(file, `${JSON.stringify(composeJsonSchema(), null, 2)}\n`);
runTool("oxfmt", file);
