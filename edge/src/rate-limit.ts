/** Limits the requests to each deployment: a token bucket that holds one second's worth and refills continuously. */
import type { Route } from "./table.js"

export interface RateLimit {
  /** @returns  whether this request is over the limit */
  exceeds(deploymentId: string, perSecond: number): boolean
  /** Forgets deployments that are no longer in the table. */
  keepOnly(deploymentIds: ReadonlySet<string>): void
}

/** @param nowMs  a monotonic clock, in milliseconds */
export function createRateLimit(nowMs: () => number = () => performance.now()): RateLimit {
  const buckets = new Map<string, { left: number; atMs: number }>()

  const exceeds: RateLimit["exceeds"] = (deploymentId, perSecond) => {
    const atMs = nowMs()
    const most = Math.max(1, perSecond)
    const last = buckets.get(deploymentId) ?? { left: most, atMs }
    const left = Math.min(most, last.left + ((atMs - last.atMs) / 1000) * perSecond)
    const isFull = left < 1
    buckets.set(deploymentId, { left: isFull ? left : left - 1, atMs })
    return isFull
  }
  const keepOnly: RateLimit["keepOnly"] = (deploymentIds) => {
    for (const id of buckets.keys()) if (!deploymentIds.has(id)) buckets.delete(id)
  }
  return { exceeds, keepOnly }
}

/** Returns whether this request is over the limit of its deployment. */
export const isTooFast = (
  { rateLimit }: { readonly rateLimit: RateLimit },
  { deployment_id, max_requests_per_second: most }: Route,
): boolean => most !== undefined && rateLimit.exceeds(deployment_id, most)
