import { createRandom } from "../../../bench/statistics.ts";
import { rememberElsewhere } from "../../support/rules.ts";

// The same tests again, with a store that answers later: what rules decide does not depend on where they remember.
rememberElsewhere(createRandom(1));
await import("./actions.test.ts");
await import("./chain.test.ts");
await import("./hostile.test.ts");
await import("./hold.test.ts");
