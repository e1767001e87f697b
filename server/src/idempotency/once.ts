/** The header `Idempotency-Key` of requests that create something. */
import { createHash } from "node:crypto"
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { callerOf } from "../http/caller-of.js"
import { type Answer, answeredBefore, answerOnce, type RequestKey } from "./answers.js"

const maxKeyLength = 255

interface KeyedRequest {
  readonly c: Context
  readonly bodyText: string
}

/** What was prepared does not fit any more: `once` prepares it again. */
export class Outdated extends Error {}

/**
 * Handles a request that creates something. Without the header it only does the work.
 * @param prepare  does what may take long, such as asking a worker, before the transaction starts: a transaction that
 *                 waited for a worker would hold a connection that the worker's own requests need. Returns the function
 *                 that writes, which uses only the database that it receives. It may throw `Outdated`.
 * @throws InvalidInput  the key was used for a different request, or is too long
 */
export async function once(
  db: Database,
  request: KeyedRequest,
  prepare: () => Promise<(db: Database) => Promise<Response>>,
): Promise<Response> {
  const key = requestKeyOf(request)
  const before = key && (await answeredBefore(db, key))
  if (before) return toResponse(before, true)
  // Each further round means that another client has changed what the work was prepared for.
  for (;;) {
    const work = await prepare()
    try {
      if (key === undefined) return await work(db)
      const { answer, isRepeated } = await answerOnce(db, key, async (tx) => toAnswer(await work(tx)))
      return toResponse(answer, isRepeated)
    } catch (error) {
      if (!(error instanceof Outdated)) throw error
    }
  }
}

/**
 * The key of a request.
 * @param ownIds  ids that the client chose for what it creates; without the header they serve as the key
 * @returns undefined if the request has neither
 */
export function requestKeyOf({ c, bodyText }: KeyedRequest, ownIds: readonly string[] = []): RequestKey | undefined {
  const header = c.req.header("idempotency-key")
  if (header && header.length > maxKeyLength) throw problem(`is longer than ${maxKeyLength} characters`)
  if (!header && ownIds.length === 0) return undefined
  const identity = callerOf(c).user?.identity ?? null
  const { pathname, search } = new URL(c.req.url)
  return {
    keySha256: sha256(JSON.stringify([identity, header || null, header ? [] : ownIds])),
    requestSha256: sha256(`${c.req.method} ${pathname}${search}\n${bodyText}`),
    otherRequest: () => (header ? problem("was used for another request: choose a new key") : idTaken(ownIds)),
  }
}

/** An id that the client chose is already in use. */
const idTaken = (ids: readonly string[]) =>
  new Conflict(`${ids.join(", ")} is already in use: choose another id or leave it out`, "id_taken")

async function toAnswer(response: Response): Promise<Answer> {
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
}

export const toResponse = ({ status, headers, body }: Answer, isRepeated: boolean): Response =>
  new Response(body, { status, headers: { ...headers, ...(isRepeated && { "idempotent-replayed": "true" }) } })

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

const problem = (message: string) =>
  new InvalidInput(
    [{ path: ["header", "Idempotency-Key"], message, type: "value_error" }],
    message.startsWith("was used") ? "idempotency_key_reused" : undefined,
  )
