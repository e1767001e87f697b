/** Counts wrong credentials of an address together, whatever they are: API keys, and codes of the console (K7). */
import type { BlockList } from "node:net"
import { TooManyRequests, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { callerAddress } from "./caller-address.js"
import { keyFailures } from "./key-failures.js"

/**
 * Calls `find`, and counts when it rejects a credential. A valid one is never refused because of wrong ones from its address.
 * @throws TooManyRequests  in place of Unauthenticated, above the limit
 */
export type CountFailures = <T>(c: Context, find: () => Promise<T>) => Promise<T>

/** @param perMinute  how many wrong credentials an address may send in a minute before it gets 429 */
export function countFailures(trustedProxies: BlockList, perMinute: number): CountFailures {
  const failures = keyFailures(perMinute)
  return async (c, find) => {
    try {
      return await find()
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error
      const waitMs = failures.count(callerAddress(c, trustedProxies) ?? "this process")
      if (waitMs === undefined) throw error
      throw new TooManyRequests("too many requests with an invalid key or code: wait, then send a valid one", waitMs)
    }
  }
}
