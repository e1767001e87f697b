/** verify: the public address answers with this revision. DEPLOYED means that, and not only that a process runs. */
import { request as plainRequest } from "node:http"
import { request as secureRequest } from "node:https"
import { sleepFor } from "@superstep/toolkit/time/clock"
import { DeployFailed } from "./failures.js"
import type { RunStage, StageInput } from "./stage.js"

const timeoutMs = 5000
const answersThatConvince = 3
const pollMs = 50

export const runVerify: RunStage = async (input) => {
  const { context, revision, deployment } = input
  context.crashPoint("verify:begin")
  // A paused deployment answers no requests; its revision is ready for its resumption.
  if (deployment.desired_run_state === "running" && !(await answersWithRevision(input))) {
    // The failure gives the route back (`endInFailure`).
    const limit = context.limits.verifyRouteMs / 1000
    throw new DeployFailed("health_timeout", `the public address did not answer with this revision within ${limit} s`)
  }
  context.crashPoint("verify:before-advance")
  context.log.info({ revision_id: revision.revision_id, deployment_id: revision.deployment_id }, "revision deployed")
  return { kind: "next", status: "DEPLOYED", stage: null }
}

async function answersWithRevision({ context, revision, deployment, signal }: StageInput): Promise<boolean> {
  const address = `${context.edge.url}/d/${deployment.route_name}/ok`
  const ask = context.network?.revisionBehind ?? revisionBehind
  const deadline = context.clock.now() + context.limits.verifyRouteMs
  let answers = 0
  while (answers < answersThatConvince) {
    signal.throwIfAborted()
    answers = (await ask(address)) === revision.revision_id ? answers + 1 : 0
    if (context.clock.now() > deadline) return false
    if (answers === 0) await sleepFor(context.clock, pollMs, signal)
  }
  return true
}

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
