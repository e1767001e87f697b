import { createHash, timingSafeEqual } from "node:crypto"

/**
 * Tells whether a key is one of the route's. Every stored hash is compared in full, so the time it takes tells nothing
 * about which one matched, or how far.
 * @param keyHashes  SHA-256 of each key, in hex
 */
export function isKnownKey(key: string, keyHashes: readonly string[]): boolean {
  const shown = createHash("sha256").update(key).digest()
  let known = false
  for (const hash of keyHashes) {
    if (timingSafeEqual(shown, Buffer.from(hash, "hex"))) known = true
  }
  return known
}
