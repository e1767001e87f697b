/** Follows a restart to its end. */
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAway, type PlatformApi } from "./api.js"
import type { Deployment } from "./deployments.js"

/** The deployment does not answer after its restart, or there was nothing to restart. */
export class NotRestarted extends KnownError {
  readonly code = "not_restarted"
}

const pollMs = 200
// Most graphs load within seconds, those of large projects within half a minute, and replicas restart one after the other.
const defaultPatienceMs = 120_000

/**
 * Waits until all agent servers of a deployment were replaced and it answers.
 * @returns  the deployment: `health` is `healthy`, or `asleep` when the next request starts it
 * @throws NotRestarted  it does not answer in time, or its new agent servers crash
 * @throws PlatformAway  the platform did not answer for that time
 */
export async function untilRestarted(
  api: PlatformApi,
  { id, name }: Pick<Deployment, "id" | "name">,
  patienceMs = defaultPatienceMs,
): Promise<Deployment> {
  const deadline = performance.now() + patienceMs
  const hint = `superstep logs ${name} shows why`
  for (;;) {
    const isLate = performance.now() > deadline
    const deployment = await readUnlessAway(api, id, isLate)
    if (deployment && !deployment.is_restarting) {
      const { health } = deployment
      if (health === "healthy" || health === "asleep") return deployment
      if (health === "crashing") throw new NotRestarted(`${name} crashes after its restart: ${hint}`)
      if (health === "paused" || health === null) throw new NotRestarted(`${name} is not serving any more`)
    }
    if (isLate) {
      const words = `${name} does not answer ${patienceMs / 1000} s after its restart; the platform keeps trying`
      throw new NotRestarted(`${words}. ${hint}`)
    }
    await sleep(pollMs)
  }
}

/** A restarting control plane is down for a moment. */
async function readUnlessAway(api: PlatformApi, id: string, isLate: boolean): Promise<Deployment | undefined> {
  try {
    return await api.send<Deployment>("GET", `/v2/deployments/${id}`)
  } catch (error) {
    if (isAway(error) && !isLate) return undefined
    throw error
  }
}
