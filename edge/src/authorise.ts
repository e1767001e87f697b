/** What a key, or a token that stands for one, may do at a route. Pure, apart from the clock. */
import { createHash, timingSafeEqual } from "node:crypto"
import type { Person } from "@superstep/protocol/http/person"
import { isAgentToken, readAgentToken } from "./agent-token.js"
import type { Route } from "./table.js"

// Decoded hashes by list: a list never changes and is collected with its table. Decoding the hex at each request would cost
// more than the comparison.
const read = new WeakMap<readonly string[], readonly Buffer[]>()

function bytesOf(keyHashes: readonly string[]): readonly Buffer[] {
  const known = read.get(keyHashes) ?? keyHashes.map((hash) => Buffer.from(hash, "hex"))
  read.set(keyHashes, known)
  return known
}

/**
 * `run without approval`: a person who may not answer what the agent asks. `unknown`: a table of an older release does not say. Such a key may
 * read, as every key may.
 */
export type Right = "run" | "run without approval" | "read" | "unknown"

type Rights = Pick<Route, "keys" | "read_keys" | "no_approval_keys">
type TokenRoute = Partial<Pick<Route, "deployment_id" | "token_key">>

/** Whom a credential stands for. */
export interface Credential {
  /** Of an API key, or by which the table knows a member. */
  readonly keyHash: Buffer
  /** It is a token of the console. */
  readonly isToken: boolean
  /** Whose token it is; undefined for a key's. */
  readonly person: Person | undefined
}

/**
 * Reads an API key or an agent token; undefined for a token that is not valid.
 * @param shown  what the caller sent
 */
export function credentialOf(
  shown: string,
  { deployment_id: deploymentId, token_key: tokenKey }: TokenRoute,
): Credential | undefined {
  if (!isAgentToken(shown))
    return { keyHash: createHash("sha256").update(shown).digest(), isToken: false, person: undefined }
  if (deploymentId === undefined || tokenKey === undefined) return undefined
  const token = readAgentToken(shown, { deploymentId, tokenKey }, new Date())
  return token && { keyHash: Buffer.from(token.keySha256, "hex"), isToken: true, person: token.person }
}

/** The hashes of all keys that have a right at the route. */
export const keysOf = ({ keys, read_keys: readKeys = [], no_approval_keys: noApproval = [] }: Rights): Set<string> =>
  new Set([...keys, ...readKeys, ...noApproval])

/** @returns  undefined when the route does not know the key */
export function rightOf(
  keyHash: Buffer,
  { keys, read_keys: readKeys, no_approval_keys: noApproval = [] }: Rights,
): Right | undefined {
  if (isKnownKey(keyHash, keys)) return readKeys ? "run" : "unknown"
  if (isKnownKey(keyHash, noApproval)) return "run without approval"
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
