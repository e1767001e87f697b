import type { Options } from "../options.js"
import { agedScenarios } from "./aged.js"
import { burningScenarios } from "./burning.js"
import { crowdScenarios } from "./crowd.js"
import { deployScenarios } from "./deploys.js"
import { firstEventScenarios } from "./first-event.js"
import { firstProtocolEventScenarios } from "./first-protocol-event.js"
import { idleScenarios } from "./idle.js"
import { joinerScenarios } from "./joiners.js"
import { longThreadScenarios } from "./long-thread.js"
import { manyServerScenarios } from "./many-servers.js"
import { processorTimeScenarios } from "./processor-time.js"
import { pythonScalingScenarios } from "./python-scaling.js"
import { queueScenarios } from "./queue.js"
import type { Scenario } from "./scenario.js"
import { slowStreamScenarios } from "./slow-streams.js"
import { startScenarios } from "./start.js"
import { superStepScenarios } from "./super-steps.js"
import { threadReaderScenarios } from "./thread-readers.js"
import { threadStateScenarios } from "./thread-state.js"
import { tokenScenarios } from "./tokens.js"
import { waitScenarios } from "./wait.js"

/** All scenarios. */
export const scenarios = (options: Options): Scenario[] => [
  ...firstEventScenarios(options),
  ...tokenScenarios(options),
  ...processorTimeScenarios(options),
  ...waitScenarios(options),
  ...threadStateScenarios(options),
  ...superStepScenarios(options),
  ...queueScenarios(options),
  ...longThreadScenarios(options),
  ...joinerScenarios(options),
  ...threadReaderScenarios(options),
  ...firstProtocolEventScenarios(options),
  ...burningScenarios(options),
  ...slowStreamScenarios(options),
  ...startScenarios(),
  ...agedScenarios(options),
  ...manyServerScenarios(options),
  ...deployScenarios(options),
  ...(options.systems.includes("python") ? pythonScalingScenarios(options) : []),
  ...(options.withIdle ? [...idleScenarios(options), ...crowdScenarios(options)] : []),
]
