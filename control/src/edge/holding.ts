/**
 * Requests for deployments that sleep: they wait here, nothing of them sent, until the table says that the deployment is
 * awake again. It owns those who wait, and tells the control plane once for each deployment that somebody waits for.
 * H1 nobody waits longer than `holdMs`, and no more than `mostHeld` wait, `mostHeldEach` of them for one deployment.
 * H2 a caller that leaves waits no more.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { type Refusal, stillAsleep, tooManyHeld } from "./refusal.js"
import type { Route } from "./table.js"

export interface Holding {
  /** @returns undefined when the deployment is awake or the caller has left; else why it is waited for no longer */
  wait(route: Route, gone: AbortSignal): Promise<Refusal | undefined>
  /** Lets those go on whose deployment is not held any more. */
  release(isHeld: (deploymentId: string) => boolean): void
}

export interface HoldingOptions {
  readonly holdMs: number
  readonly mostHeld: number
  readonly mostHeldEach: number
  /** Tells the control plane that a deployment is needed; it throws when it cannot be told. */
  readonly wake: (deploymentId: string) => Promise<void>
  readonly log: Log
}

interface Waiter {
  readonly deploymentId: string
  end(refusal?: Refusal): void
}

// While the control plane is away it cannot be told.
const tellAgainMs = 500

export function createHolding({ holdMs, mostHeld, mostHeldEach, wake, log }: HoldingOptions): Holding {
  const waiters = new Set<Waiter>()
  const waitersFor = (id: string) => [...waiters].filter(({ deploymentId }) => deploymentId === id).length

  const tell = async (deploymentId: string): Promise<void> => {
    while (waitersFor(deploymentId) > 0) {
      try {
        return await wake(deploymentId)
      } catch (err) {
        log.warn({ err, deployment_id: deploymentId }, "the control plane could not be told to wake a deployment")
        await sleep(tellAgainMs)
      }
    }
  }

  const wait: Holding["wait"] = ({ deployment_id: deploymentId, name }, gone) => {
    const others = waitersFor(deploymentId)
    if (waiters.size >= mostHeld || others >= mostHeldEach) return Promise.resolve(tooManyHeld(name))
    return new Promise((resolve) => {
      const leave = () => waiter.end()
      const tooLate = setTimeout(() => waiter.end(stillAsleep(name)), holdMs)
      const waiter: Waiter = {
        deploymentId,
        end: (refusal) => {
          waiters.delete(waiter)
          clearTimeout(tooLate)
          gone.removeEventListener("abort", leave)
          resolve(refusal)
        },
      }
      gone.addEventListener("abort", leave, { once: true })
      waiters.add(waiter)
      if (others === 0) void tell(deploymentId)
    })
  }

  const release: Holding["release"] = (isHeld) => {
    for (const waiter of [...waiters]) if (!isHeld(waiter.deploymentId)) waiter.end()
  }
  return { wait, release }
}
