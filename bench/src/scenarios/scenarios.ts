import type { Options } from "../options.js"
import { firstEventScenarios } from "./first-event.js"
import { queueScenarios } from "./queue.js"
import type { Scenario } from "./scenario.js"
import { superStepScenarios } from "./super-steps.js"
import { tokenScenarios } from "./tokens.js"
import { waitScenarios } from "./wait.js"

/** Everything that can be measured: the table of contents. */
export const scenarios = (options: Options): Scenario[] => [
  ...firstEventScenarios(options),
  ...tokenScenarios(options),
  ...waitScenarios(options),
  ...superStepScenarios(options),
  ...queueScenarios(options),
]
