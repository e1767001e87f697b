/**
 * Seals (encrypts) values for the database: AES-256-GCM with the installation's master key. The context (where the value
 * belongs) is authenticated too, so a sealed value that is copied to another row does not open there.
 */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { KnownError } from "@superstep/toolkit/errors/errors"

export interface MasterKey {
  /** Written into each sealed value, so that a value of another key is recognized. */
  readonly id: string
  readonly key: KeyObject
}

/** Stored bytes cannot be opened: another master key, another row, or changed bytes. */
export class CannotOpen extends KnownError {
  readonly code = "secret_unreadable"
}

const keyBytes = 32
// 96 bits is GCM's native nonce; random ones are safe for 2^32 values under one key (NIST SP 800-38D, 8.3).
const nonceBytes = 12
const tagBytes = 16

/**
 * @param bytes  32 random bytes
 * @throws RangeError  for any other length: a typed password is not a key
 */
export function masterKey(bytes: Uint8Array): MasterKey {
  if (bytes.length !== keyBytes) throw new RangeError(`a master key has ${keyBytes} bytes, not ${bytes.length}`)
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), key: createSecretKey(bytes) }
}

const aad = (context: readonly (string | number)[]): Buffer => Buffer.from(JSON.stringify(context))

/**
 * @param context  where the value belongs, such as `["secret", workspaceId, deploymentId, name, version]`
 * @returns        `<format>.<key id>.<nonce, ciphertext and tag as base64url>`
 */
export function seal(key: MasterKey, value: string, context: readonly (string | number)[]): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key.key, nonce).setAAD(aad(context))
  const sealed = Buffer.concat([nonce, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()])
  return `1.${key.id}.${sealed.toString("base64url")}`
}

/**
 * Decrypts a value of `seal`, with the same key and context.
 * @throws CannotOpen
 */
export function open(key: MasterKey, sealed: string, context: readonly (string | number)[]): string {
  const [format, keyId, text] = sealed.split(".")
  if (format !== "1" || text === undefined) throw new CannotOpen("a stored secret has an unknown form")
  if (keyId !== key.id) {
    throw new CannotOpen(`a secret was sealed with the master key ${keyId}, but this is ${key.id}: restore that key`)
  }
  const bytes = Buffer.from(text, "base64url")
  if (bytes.length < nonceBytes + tagBytes) throw new CannotOpen("a stored secret is truncated")
  const decipher = createDecipheriv("aes-256-gcm", key.key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(aad(context)).setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
  } catch (cause) {
    throw new CannotOpen("a stored secret was changed or belongs to another row", { cause })
  }
}
