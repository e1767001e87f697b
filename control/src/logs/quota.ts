/**
 * Limits the size of a deployment's logs. Over the quota the oldest lines are deleted, from the larger of its streams: a
 * chatty agent does not cost a build its log. The log says how many lines were dropped. When a control plane is killed before
 * that, the count stays in the book, and the next one logs it.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { appendLogLines } from "./operations.js"
import { allBooks, booksOf, holdRevision, type LogBook, removeOldestLines, takeDroppedLines } from "./queries.js"

// Makes room for a while: deleting a little with each line would also log a notice with each line.
const share = 0.9

const total = (books: readonly LogBook[]): number => books.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Brings a deployment's logs below their quota, if they are above it.
 * @param revisionId  the revision whose log gets the notice
 * @param onDropped   called in the transaction that writes the notice
 */
export async function keepQuota(
  db: Database,
  { deploymentId, revisionId, quotaBytes }: { deploymentId: string; revisionId: string; quotaBytes: number },
  onDropped: (tx: Db, what: { workspaceId: string; lines: number }) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const first = await booksOf(db, deploymentId)
  if (total(first) <= quotaBytes) return
  for (let books = first; total(books) > quotaBytes * share; books = await booksOf(db, deploymentId)) {
    const [biggest] = books
    if (!biggest || (await removeOldestLines(db, biggest)) === 0) break
  }
  await db.transaction(async (tx) => {
    // Locked before the books, in the same order as everything that adds lines.
    await holdRevision(tx, revisionId)
    for (const book of first) {
      const lines = await takeDroppedLines(tx, book)
      if (lines === 0) continue
      const message = `[${lines} lines dropped: the oldest ones, since the logs of this deployment exceed ${sizeOf(quotaBytes)}]`
      await appendLogLines(tx, revisionId, book.stream, [{ message, level: "WARNING" }])
      await onDropped(tx, { workspaceId: book.workspace_id, lines })
    }
  })
}

const sizeOf = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${Math.round(bytes / (1024 * 1024))} MB` : `${Math.round(bytes / 1024)} KB`

/** Deletes lines that are older than logs are kept, batch by batch. A deployment that fails does not stop the others. */
export async function removeOldLines(
  { db, failures }: { readonly db: Db; readonly failures: MemberFailures },
  keptDays: { build: number; deploy: number },
): Promise<void> {
  const factsOf = ({ deployment_id, stream }: Pick<LogBook, "deployment_id" | "stream">) => ({ deployment_id, stream })
  await failures.forEach("the deletion of its old lines", await allBooks(db), factsOf, async (book) => {
    while ((await removeOldestLines(db, book, { olderThanDays: keptDays[book.stream] })) > 0) {}
  })
}
