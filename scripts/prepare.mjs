// npm runs this after an install in a clone, and when `npm install -g .` links the clone: it builds the command,
// because
// the link needs a file to point to.
import { build, install } from "./setup.mjs";

install();
build();
