/**
 * Tokens for one deployment, with which the console calls its agent in place of an API key. They are signed, so the edge checks
 * them without asking anybody (docs/decisions/0046). A token names the key or the member that it stands for: what they may do, and whether they
 * are still valid, says the table. That of a person also says who they are (docs/decisions/0094). Pure, apart from the clock that is passed in.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { type Person, personIn, personText } from "@superstep/protocol/http/person"

const prefix = "sst_"
const form = /^sst_([0-9a-f]{64})\.(\d{1,12})(?:\.p([\w-]{1,2000}))?\.([\w-]{43})$/

export interface AgentToken {
  /** SHA-256 of the API key, or the hash by which the table knows a member, in hex. */
  readonly keySha256: string
  /** In seconds since 1970. */
  readonly expiresAt: number
  /** Whose it is; undefined for a key. */
  readonly person?: Person | undefined
}

/** What a signature is made and checked with: each deployment has a key of its own, and no token is valid at two. */
export interface TokenPlace {
  readonly deploymentId: string
  /** In hex; the table has it (protocol/edge). */
  readonly tokenKey: string
}

export const isAgentToken = (text: string): boolean => text.startsWith(prefix)

export function signAgentToken({ keySha256, expiresAt, person }: AgentToken, place: TokenPlace): string {
  const whose = person && personText(person)
  const signature = signatureOf([keySha256, expiresAt, whose], place).toString("base64url")
  return `${prefix}${keySha256}.${expiresAt}${whose === undefined ? "" : `.p${whose}`}.${signature}`
}

/** @returns  what it stands for; undefined when it is of another deployment, altered or expired */
export function readAgentToken(text: string, place: TokenPlace, now: Date): AgentToken | undefined {
  const [, keySha256, end, whose, signature] = form.exec(text) ?? []
  if (keySha256 === undefined || end === undefined || signature === undefined) return undefined
  const expected = signatureOf([keySha256, Number(end), whose], place)
  const isOurs = timingSafeEqual(Buffer.from(signature, "base64url"), expected)
  if (!isOurs || now.getTime() >= Number(end) * 1000) return undefined
  return { keySha256, expiresAt: Number(end), person: whose === undefined ? undefined : personIn(whose) }
}

type Signed = readonly [keySha256: string, end: number, whose: string | undefined]

const signatureOf = (signed: Signed, { deploymentId, tokenKey }: TokenPlace): Buffer =>
  createHmac("sha256", Buffer.from(tokenKey, "hex"))
    .update([deploymentId, ...signed.filter((part) => part !== undefined)].join("\n"))
    .digest()
