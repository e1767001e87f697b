/** verify: the public address answers with this revision. DEPLOYED means that, and not only that a process runs. */
import { setTimeout as sleep } from "node:timers/promises"
import { DeployFailed } from "./failures.js"
import type { RunStage, StageInput } from "./stage.js"

const answersThatConvince = 3
const pollMs = 50

export const runVerify: RunStage = async (input) => {
  const { context, revision, deployment } = input
  context.crashPoint("verify:begin")
  // A paused deployment answers nobody; its revision is ready for when it is resumed.
  if (deployment.desired_run_state === "running" && !(await answersWithRevision(input))) {
    // Its end gives the route back (`endInFailure`).
    const limit = context.limits.verifyRouteMs / 1000
    throw new DeployFailed("health_timeout", `the public address did not answer with this revision within ${limit} s`)
  }
  context.crashPoint("verify:before-advance")
  context.log.info({ revision_id: revision.revision_id, deployment_id: revision.deployment_id }, "revision deployed")
  return { kind: "next", status: "DEPLOYED", stage: "drain" }
}

async function answersWithRevision({ context, revision, deployment, signal }: StageInput): Promise<boolean> {
  const address = `${context.edge.url}/d/${deployment.route_name}/ok`
  const deadline = performance.now() + context.limits.verifyRouteMs
  let answers = 0
  while (answers < answersThatConvince) {
    signal.throwIfAborted()
    answers = (await revisionBehind(address)) === revision.revision_id ? answers + 1 : 0
    if (performance.now() > deadline) return false
    if (answers === 0) await sleep(pollMs, undefined, { signal })
  }
  return true
}

/** @returns undefined while nothing good answers there */
async function revisionBehind(address: string): Promise<string | undefined> {
  try {
    const reply = await fetch(address, { signal: AbortSignal.timeout(5000) })
    await reply.text()
    return reply.ok ? (reply.headers.get("x-revision-id") ?? undefined) : undefined
  } catch (error) {
    // fetch says every fault of the network in this way; the deadline above says when it is one too many.
    if (error instanceof TypeError || (error as Error).name === "TimeoutError") return undefined
    throw error
  }
}
