// npm run fix: formats the sources, and fixes what the linter can fix.
import { install, runTool } from "./setup.mjs";

install();
runTool("oxfmt", ".");
runTool("oxlint", "--type-aware", "--fix");
