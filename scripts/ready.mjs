// npm run build, and before npm pack: installs what is missing and builds anew.
import { build, install } from "./setup.mjs";

install();
build({ anew: true });
