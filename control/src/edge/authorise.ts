/** What a key, or a token that stands for one, may do at a route. Pure, apart from the clock. */
import { createHash, timingSafeEqual } from "node:crypto"
import { isAgentToken, keyOfAgentToken } from "./agent-token.js"
import type { Route } from "./table.js"

// Decoded hashes by list: a list never changes and is collected with its table. Decoding the hex at each request would cost
// more than the comparison.
const read = new WeakMap<readonly string[], readonly Buffer[]>()

function bytesOf(keyHashes: readonly string[]): readonly Buffer[] {
  const known = read.get(keyHashes) ?? keyHashes.map((hash) => Buffer.from(hash, "hex"))
  read.set(keyHashes, known)
  return known
}

/** `unknown`: a table of an older release does not say. Such a key may read, as every key may. */
export type Right = "run" | "read" | "unknown"

type Rights = Pick<Route, "keys" | "read_keys">

/** @param shown  an API key, or an agent token that stands for one @returns  undefined when the route does not know it */
export function rightOf(
  shown: string,
  route: Rights & Partial<Pick<Route, "deployment_id" | "token_key">>,
): Right | undefined {
  const { keys, read_keys: readKeys } = route
  const sha256 = isAgentToken(shown) ? keyOfToken(shown, route) : createHash("sha256").update(shown).digest()
  if (!sha256) return undefined
  if (isKnownKey(sha256, keys)) return readKeys ? "run" : "unknown"
  return readKeys && isKnownKey(sha256, readKeys) ? "read" : undefined
}

function keyOfToken(
  token: string,
  { deployment_id: deploymentId, token_key: tokenKey }: Partial<Pick<Route, "deployment_id" | "token_key">>,
): Buffer | undefined {
  if (deploymentId === undefined || tokenKey === undefined) return undefined
  const sha256 = keyOfAgentToken(token, { deploymentId, tokenKey }, new Date())
  return sha256 === undefined ? undefined : Buffer.from(sha256, "hex")
}

/**
 * Returns whether a key is one of the route's. Compares every stored hash in full, so the time it takes does not show
 * which one matched, or how far.
 * @param keyHashes  SHA-256 of each key, in hex; a list that is never changed
 */
function isKnownKey(sha256: Buffer, keyHashes: readonly string[]): boolean {
  let known = false
  for (const hash of bytesOf(keyHashes)) {
    if (timingSafeEqual(sha256, hash)) known = true
  }
  return known
}
