/** Signs upload addresses: whoever has one may send one archive, until it expires. Pure. */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { MasterKey } from "../secrets/seal.js"

// A key of its own: a signature made here can never pass for a sealed value.
const signingKey = ({ key }: MasterKey): Buffer =>
  Buffer.from(hkdfSync("sha256", key, "", "superstep upload address", 32))

const signatureOf = (key: MasterKey, objectPath: string, expires: number): Buffer =>
  createHmac("sha256", signingKey(key)).update(`PUT\n${objectPath}\n${expires}`).digest()

/**
 * @param expires  in seconds since 1970
 * @returns        the query of the address, such as `exp=1790000000&sig=…`
 */
export const signUpload = (key: MasterKey, objectPath: string, expires: number): string =>
  `exp=${expires}&sig=${signatureOf(key, objectPath, expires).toString("base64url")}`

/** @throws Forbidden  the signature is for another path or time, or has expired */
export function checkSignature(
  key: MasterKey,
  { objectPath, exp, sig, now }: { objectPath: string; exp: string; sig: string; now: number },
): void {
  const given = Buffer.from(sig, "base64url")
  const wanted = signatureOf(key, objectPath, Number(exp))
  const isSigned = /^\d{1,12}$/.test(exp) && given.length === wanted.length && timingSafeEqual(given, wanted)
  if (!isSigned)
    throw new Forbidden(
      "the signature of the address is invalid: request an address with POST …/upload-url",
      "invalid_signature",
    )
  if (Number(exp) * 1000 < now) {
    throw new Forbidden("the address has expired: request a new one with POST …/upload-url", "upload_expired")
  }
}
