import { loginScenarios } from "./login.mjs";
import { plainScenarios } from "./plain.mjs";

/** What the client does in each scenario: functions of the server's address, by the scenario's name. */
export const scenarios = new Map([...plainScenarios, ...loginScenarios]);
