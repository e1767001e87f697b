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
type TokenRoute = Partial<Pick<Route, "deployment_id" | "token_key">>

/**
 * The hash of an API key, or of the key that an agent token stands for; undefined for a token that is not valid.
 * @param shown  what the caller sent
 */
export function keyHashOf(
  shown: string,
  { deployment_id: deploymentId, token_key: tokenKey }: TokenRoute,
): Buffer | undefined {
  if (!isAgentToken(shown)) return createHash("sha256").update(shown).digest()
  if (deploymentId === undefined || tokenKey === undefined) return undefined
  const sha256 = keyOfAgentToken(shown, { deploymentId, tokenKey }, new Date())
  return sha256 === undefined ? undefined : Buffer.from(sha256, "hex")
}

/** @returns  undefined when the route does not know the key */
export function rightOf(keyHash: Buffer, { keys, read_keys: readKeys }: Rights): Right | undefined {
  if (isKnownKey(keyHash, keys)) return readKeys ? "run" : "unknown"
  return readKeys && isKnownKey(keyHash, readKeys) ? "read" : undefined
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
