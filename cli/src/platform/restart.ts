/** Follows a restart to its end. */
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { type PlatformApi, PlatformAway } from "./api.js"
import type { Deployment } from "./deployments.js"

/** The deployment does not answer after its restart, or there was nothing to restart. */
export class NotRestarted extends KnownError {
  readonly code = "not_restarted"
}

const pollMs = 200
// Most graphs load within seconds, those of large projects within half a minute, and replicas are restarted one after the other.
const defaultPatienceMs = 120_000

/**
 * Waits until all agent servers of a deployment were replaced and it answers.
 * @returns the deployment as it is then: `health` is `healthy`, or `asleep` when the next request starts it
 * @throws NotRestarted  it does not answer in time, or its new agent servers crash
 * @throws PlatformAway  the platform did not answer for as long
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
      if (health === "crashing") throw new NotRestarted(`${name} was restarted and crashes: ${hint}`)
      if (health === "paused" || health === null) throw new NotRestarted(`${name} does not serve any more`)
    }
    if (isLate) {
      const words = `${name} does not answer ${patienceMs / 1000} s after its restart; it is still being started`
      throw new NotRestarted(`${words}. ${hint}`)
    }
    await sleep(pollMs)
  }
}

/** A control plane that restarts is away for a moment. */
async function readUnlessAway(api: PlatformApi, id: string, isLate: boolean): Promise<Deployment | undefined> {
  try {
    return await api.send<Deployment>("GET", `/v2/deployments/${id}`)
  } catch (error) {
    if (error instanceof PlatformAway && !isLate) return undefined
    throw error
  }
}
