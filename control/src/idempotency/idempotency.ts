/**
 * `Idempotency-Key` on writes (CP-D11): the effect and its reply are stored in one transaction, so a repeated request gets
 * the first one's reply, also when both arrive at once and when the process died before it answered. A failed request left
 * nothing behind and may be retried with its key.
 */
import { createHash } from "node:crypto"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { recordCreated, recordNoEffect } from "../audit/current-write.js"
import { answeredRequest, storeReply, takeIdempotencyKey } from "./queries.js"

export interface Answer {
  readonly status: 200 | 201 | 202
  readonly body: object
  /** Called when the effect is stored, and not for a repeated request: the place to log it. */
  readonly committed: () => void
}

const maxKeyLength = 255

/**
 * Runs `work` in a transaction, or returns the earlier reply to the request's key.
 * @throws InvalidInput  the key was used for another request before, or is too long
 */
export async function answerOnce(
  db: Database,
  { c, bodyText, workspaceId }: { c: Context; bodyText: string; workspaceId: string },
  work: (tx: Db) => Promise<Answer>,
): Promise<Response> {
  const key = keyOf(c)
  const answer = await db.transaction(async (tx) => {
    if (key === undefined) return noted(await work(tx))
    const sha256 = fingerprint(c, bodyText)
    if (!(await takeIdempotencyKey(tx, { workspaceId, key, sha256 }))) return repeated(tx, { workspaceId, key, sha256 })
    const first = noted(await work(tx))
    await storeReply(tx, { workspaceId, key, status: first.status, reply: JSON.stringify(first.body) })
    return first
  })
  if ("text" in answer) {
    return c.body(answer.text, answer.status, { "content-type": "application/json", "idempotent-replayed": "true" })
  }
  answer.committed()
  return c.json(answer.body, answer.status)
}

/** Adds the id of what was created to the audit log's entry. */
function noted(answer: Answer): Answer {
  recordCreated(answer.body)
  return answer
}

function keyOf(c: Context): string | undefined {
  const key = c.req.header("idempotency-key")
  if (!key) return undefined
  if (key.length <= maxKeyLength) return key
  throw new InvalidInput([
    {
      path: ["header", "Idempotency-Key"],
      message: `is longer than ${maxKeyLength} characters`,
      type: "string_too_long",
    },
  ])
}

/** Both addresses of the API count as one: a retry may use the other. */
const fingerprint = (c: Context, bodyText: string): string =>
  createHash("sha256")
    .update(`${c.req.method} ${c.req.path.replace(/^\/api-host/, "")}${new URL(c.req.url).search}\n${bodyText}`)
    .digest("hex")

async function repeated(tx: Db, { workspaceId, key, sha256 }: { workspaceId: string; key: string; sha256: string }) {
  const earlier = await answeredRequest(tx, workspaceId, key)
  if (earlier?.request_sha256 !== sha256) {
    throw new InvalidInput(
      [
        {
          path: ["header", "Idempotency-Key"],
          message: "was already used for another request: choose a new key",
          type: "value_error",
        },
      ],
      "idempotency_key_reused",
    )
  }
  recordNoEffect()
  return { text: earlier.reply, status: earlier.status as Answer["status"] }
}
