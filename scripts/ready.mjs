// npm run build, and before npm pack: installs what is missing and builds again.
import { build, install } from "./setup.mjs";

install();
build({ anew: true });
