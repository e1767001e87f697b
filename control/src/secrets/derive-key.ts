/** Keys for signatures, derived from the master key: they need no storage, and each purpose has its own. Pure. */
import { hkdfSync } from "node:crypto"
import { Secret } from "@superstep/toolkit/config/settings"
import type { MasterKey } from "./seal.js"

const keyBytes = 32

/**
 * @param purpose  what the key is for, such as `["agent-token", deploymentId]`
 * @returns        32 bytes in hex, always the same for a master key and a purpose
 */
export function deriveKey({ key }: MasterKey, purpose: readonly string[]): Secret {
  const bytes = hkdfSync("sha256", key, "", JSON.stringify(purpose), keyBytes)
  return new Secret(Buffer.from(bytes).toString("hex"))
}
