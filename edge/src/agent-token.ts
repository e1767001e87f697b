/**
 * Tokens for one deployment, with which the console calls its agent in place of an API key. They are signed, so the edge checks
 * them without asking anybody (docs/decisions/0046). A token names the key that it stands for: what that key may do, and whether it is
 * still valid, says the table. Pure, apart from the clock that is passed in.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

const prefix = "sst_"
const form = /^sst_([0-9a-f]{64})\.(\d{1,12})\.([\w-]{43})$/

export interface AgentToken {
  /** SHA-256 of the API key, in hex. */
  readonly keySha256: string
  /** In seconds since 1970. */
  readonly expiresAt: number
}

/** What a signature is made and checked with: each deployment has a key of its own, and no token is valid at two. */
export interface TokenPlace {
  readonly deploymentId: string
  /** In hex; the table has it (protocol/edge). */
  readonly tokenKey: string
}

export const isAgentToken = (text: string): boolean => text.startsWith(prefix)

export const signAgentToken = ({ keySha256, expiresAt }: AgentToken, place: TokenPlace): string =>
  `${prefix}${keySha256}.${expiresAt}.${signatureOf(keySha256, expiresAt, place).toString("base64url")}`

/** @returns  the hash of the key that it stands for; undefined when it is of another deployment, altered or expired */
export function keyOfAgentToken(text: string, place: TokenPlace, now: Date): string | undefined {
  const [, keySha256, end, signature] = form.exec(text) ?? []
  if (keySha256 === undefined || end === undefined || signature === undefined) return undefined
  const expected = signatureOf(keySha256, Number(end), place)
  const isOurs = timingSafeEqual(Buffer.from(signature, "base64url"), expected)
  return isOurs && now.getTime() < Number(end) * 1000 ? keySha256 : undefined
}

const signatureOf = (keySha256: string, expiresAt: number, { deploymentId, tokenKey }: TokenPlace): Buffer =>
  createHmac("sha256", Buffer.from(tokenKey, "hex")).update(`${deploymentId}\n${keySha256}\n${expiresAt}`).digest()
