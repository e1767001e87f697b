/** Maps each stage to its function: the table of contents of the pipeline. */
import type { Stage } from "../revisions/revision.js"
import { runBuild } from "./build-stage.js"
import { runDeploy } from "./deploy-stage.js"
import { runFetch } from "./fetch-stage.js"
import { runQueue } from "./queue-stage.js"
import type { RunStage } from "./stage.js"
import { runSwitch } from "./switch-stage.js"
import { runVerify } from "./verify-stage.js"

export const stageRunners: Readonly<Record<Stage, RunStage>> = {
  queue: runQueue,
  fetch: runFetch,
  build: runBuild,
  deploy: runDeploy,
  switch: runSwitch,
  verify: runVerify,
}
