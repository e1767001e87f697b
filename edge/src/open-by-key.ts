/**
 * What is open with each key. When a table lacks the key, all of it ends at once (E9): otherwise a revoked key would read its
 * streams and use its WebSockets for as long as they last.
 */
import { keysOf } from "./authorise.js"
import type { Route, Table } from "./table.js"

export interface OpenByKey {
  /**
   * @param end  called when the key is no longer one of the route's
   * @returns  to call when the exchange is over
   */
  add(route: Route, keyHash: Buffer, end: () => void): () => void
  /**
   * Ends what was opened with keys that the table lacks. A deployment without a route is skipped, since nothing is known about its
   * keys: its units left the table, and stop.
   * @returns  how many exchanges were ended
   */
  endRevoked(table: Table): number
}

type Ends = Set<() => void>

export function createOpenByKey(): OpenByKey {
  const open = new Map<string, Map<string, Ends>>()

  const add: OpenByKey["add"] = ({ deployment_id: deployment }, keyHash, end) => {
    const hash = keyHash.toString("hex")
    const keys = open.get(deployment) ?? new Map<string, Ends>()
    const ends = keys.get(hash) ?? new Set()
    open.set(deployment, keys.set(hash, ends.add(end)))
    return () => {
      if (!ends.delete(end) || ends.size > 0) return
      if (keys.get(hash) === ends) keys.delete(hash)
      if (keys.size === 0 && open.get(deployment) === keys) open.delete(deployment)
    }
  }

  const endRevoked: OpenByKey["endRevoked"] = ({ routes }) => {
    const revoked = routes.flatMap((route) => {
      const used = open.get(route.deployment_id)
      if (!used) return []
      const valid = keysOf(route)
      return [...used].flatMap(([hash, ends]) => (valid.has(hash) ? [] : [...ends]))
    })
    for (const end of revoked) end()
    return revoked.length
  }
  return { add, endRevoked }
}
