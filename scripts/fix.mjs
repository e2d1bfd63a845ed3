// npm run fix: formats the sources, and mends what the linter can mend.
import { install, runTool } from "./setup.mjs";

install();
runTool("oxfmt", ".");
runTool("oxlint", "--type-aware", "--fix");
