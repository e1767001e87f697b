/** verify: the public address answers with this revision. DEPLOYED means that, and not only that a process runs. */
import { request as plainRequest } from "node:http"
import { request as secureRequest } from "node:https"
import { sleepFor } from "@superstep/toolkit/time/clock"
import { deploymentById } from "../deployments/carried-queries.js"
import type { PipelineContext } from "../planner/context.js"
import { DeployFailed } from "./failures.js"
import type { RunStage, StageInput } from "./stage.js"

const timeoutMs = 5000
const answersThatConvince = 3
const pollMs = 50

export const runVerify: RunStage = async (input) => {
  const { context, revision } = input
  context.crashPoint("verify:begin")
  if (!(await answersOrIsPaused(input))) {
    // The failure gives the route back (`endInFailure`).
    const limit = context.limits.verifyRouteMs / 1000
    throw new DeployFailed("health_timeout", `the public address did not answer with this revision within ${limit} s`)
  }
  context.crashPoint("verify:before-advance")
  context.log.info({ revision_id: revision.revision_id, deployment_id: revision.deployment_id }, "revision deployed")
  return { kind: "next", status: "DEPLOYED", stage: null }
}

/** A paused deployment answers no requests, also when it is paused meanwhile: its revision is ready for its resumption. */
async function answersOrIsPaused({ context, revision, deployment, signal }: StageInput): Promise<boolean> {
  const address = `${context.edge.url}/d/${deployment.route_name}/ok`
  const ask = context.network?.revisionBehind ?? revisionBehind
  const deadline = context.clock.now() + context.limits.verifyRouteMs
  let answers = 0
  while (answers < answersThatConvince) {
    signal.throwIfAborted()
    answers = (await ask(address)) === revision.revision_id ? answers + 1 : 0
    if (answers === 0 && (await isPaused(context, deployment.deployment_id))) return true
    if (context.clock.now() > deadline) return false
    if (answers === 0) await sleepFor(context.clock, pollMs, signal)
  }
  return true
}

const isPaused = async ({ db }: PipelineContext, deploymentId: string): Promise<boolean> =>
  (await deploymentById(db, deploymentId))?.desired_run_state === "paused"

/** @returns  undefined while there is no good answer */
function revisionBehind(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = address.startsWith("https:") ? secureRequest : plainRequest
    // Our own edge on our own machine, at an address that its certificate cannot name.
    const options = { agent: false, timeout: timeoutMs, rejectUnauthorized: false }
    const asked = request(address, options, (reply) => {
      reply.resume()
      const revisionId = reply.headers["x-revision-id"]
      resolve(reply.statusCode === 200 && typeof revisionId === "string" ? revisionId : undefined)
    })
    asked.once("timeout", () => asked.destroy())
    // Network errors are retried until the deadline above.
    asked.once("error", () => resolve(undefined))
    asked.end()
  })
}
