/** What a key may do at a route. Pure. */
import { createHash, timingSafeEqual } from "node:crypto"
import type { Route } from "./table.js"

// By the list itself: a table's lists never change, and go with it. Read out of hex at each request they would cost more
// than the comparison.
const read = new WeakMap<readonly string[], readonly Buffer[]>()

function bytesOf(keyHashes: readonly string[]): readonly Buffer[] {
  const known = read.get(keyHashes) ?? keyHashes.map((hash) => Buffer.from(hash, "hex"))
  read.set(keyHashes, known)
  return known
}

/** `unknown`: the table is of an older release and does not tell. It may read, as every key may. */
export type Right = "run" | "read" | "unknown"

/** @returns undefined when the route does not know the key */
export function rightOf(
  key: string,
  { keys, read_keys: readKeys }: Pick<Route, "keys" | "read_keys">,
): Right | undefined {
  if (isKnownKey(key, keys)) return readKeys ? "run" : "unknown"
  return readKeys && isKnownKey(key, readKeys) ? "read" : undefined
}

/**
 * Tells whether a key is one of the route's. Every stored hash is compared in full, so the time it takes tells nothing
 * about which one matched, or how far.
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
