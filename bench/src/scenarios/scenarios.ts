import type { Options } from "../options.js"
import { burningScenarios } from "./burning.js"
import { deployScenarios } from "./deploys.js"
import { firstEventScenarios } from "./first-event.js"
import { idleScenarios } from "./idle.js"
import { joinerScenarios } from "./joiners.js"
import { longThreadScenarios } from "./long-thread.js"
import { queueScenarios } from "./queue.js"
import type { Scenario } from "./scenario.js"
import { slowStreamScenarios } from "./slow-streams.js"
import { startScenarios } from "./start.js"
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
  ...longThreadScenarios(options),
  ...joinerScenarios(options),
  ...burningScenarios(options),
  ...slowStreamScenarios(options),
  ...startScenarios(),
  ...deployScenarios(options),
  ...(options.withIdle ? idleScenarios(options) : []),
]
