/** What a key may do at a route. Pure. */
import { createHash, timingSafeEqual } from "node:crypto"
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

/** @returns  undefined when the route does not know the key */
export function rightOf(
  key: string,
  { keys, read_keys: readKeys }: Pick<Route, "keys" | "read_keys">,
): Right | undefined {
  if (isKnownKey(key, keys)) return readKeys ? "run" : "unknown"
  return readKeys && isKnownKey(key, readKeys) ? "read" : undefined
}

/**
 * Returns whether a key is one of the route's. Compares every stored hash in full, so the time it takes does not show
 * which one matched, or how far.
 * @param keyHashes  SHA-256 of each key, in hex; a list that is never changed
 */
function isKnownKey(key: string, keyHashes: readonly string[]): boolean {
  const shown = createHash("sha256").update(key).digest()
  let known = false
  for (const hash of bytesOf(keyHashes)) {
    if (timingSafeEqual(shown, hash)) known = true
  }
  return known
}
