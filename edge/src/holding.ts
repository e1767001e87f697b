/**
 * Owns the requests for deployments that sleep: they wait here, nothing of them sent, until the table says that the
 * deployment is awake. Asks the control plane once for each deployment to wake it.
 * H1 no request waits longer than `holdMs`; at most `mostHeld` wait, at most `mostHeldEach` of them for one deployment.
 * H2 a request whose caller leaves stops waiting.
 */
import { addAbortListener } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { type Refusal, stillAsleep, tooManyHeld } from "./refusal.js"
import type { Route } from "./table.js"

export interface Holding {
  /** @returns  undefined when the deployment is awake or the caller has left; else why the request waits no longer */
  wait(route: Route, gone: AbortSignal): Promise<Refusal | undefined>
  /** Releases the requests whose deployment is no longer held. */
  release(isHeld: (deploymentId: string) => boolean): void
}

export interface HoldingOptions {
  readonly holdMs: number
  readonly mostHeld: number
  readonly mostHeldEach: number
  /** Asks the control plane to wake a deployment; throws when the control plane does not answer. */
  readonly wake: (deploymentId: string) => Promise<void>
  readonly log: Log
}

interface Waiter {
  readonly deploymentId: string
  end(refusal?: Refusal): void
}

// How long to wait before asking again, while the control plane does not answer.
const wakeRetryMs = 500

export function createHolding({ holdMs, mostHeld, mostHeldEach, wake, log }: HoldingOptions): Holding {
  const waiters = new Set<Waiter>()
  const waitersFor = (id: string) => [...waiters].filter(({ deploymentId }) => deploymentId === id).length

  const requestWake = async (deploymentId: string): Promise<void> => {
    while (waitersFor(deploymentId) > 0) {
      try {
        return await wake(deploymentId)
      } catch (err) {
        log.warn({ err, deployment_id: deploymentId }, "the control plane could not be asked to wake a deployment")
        await sleep(wakeRetryMs)
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
          listening[Symbol.dispose]()
          resolve(refusal)
        },
      }
      const listening = addAbortListener(gone, leave)
      waiters.add(waiter)
      if (others === 0) void requestWake(deploymentId)
    })
  }

  const release: Holding["release"] = (isHeld) => {
    for (const waiter of [...waiters]) if (!isHeld(waiter.deploymentId)) waiter.end()
  }
  return { wait, release }
}
