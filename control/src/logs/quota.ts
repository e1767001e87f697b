/**
 * What a deployment's logs may take up. Over the quota the oldest lines go, of whichever of its streams is the bigger: a
 * chatty agent costs no build its log. What went is said in the log. A killed control plane leaves a count in the book,
 * and the next one says it.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { appendLogLines } from "./operations.js"
import { allBooks, booksOf, holdRevision, type LogBook, removeOldestLines, takeDroppedLines } from "./queries.js"

// Room for a while: removing a little with each line would say so with each line.
const share = 0.9

const total = (books: readonly LogBook[]): number => books.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Brings a deployment's logs below their quota, when they are above it.
 * @param revisionId  whose log says what went
 * @param onDropped   called in the transaction that says so
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
    // Before the books, as everybody who adds lines does.
    await holdRevision(tx, revisionId)
    for (const book of first) {
      const lines = await takeDroppedLines(tx, book)
      if (lines === 0) continue
      const message = `[${lines} lines dropped: the oldest, since the logs of this deployment exceed ${sizeOf(quotaBytes)}]`
      await appendLogLines(tx, revisionId, book.stream, [{ message, level: "WARNING" }])
      await onDropped(tx, { workspaceId: book.workspace_id, lines })
    }
  })
}

const sizeOf = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${Math.round(bytes / (1024 * 1024))} MB` : `${Math.round(bytes / 1024)} KB`

/** Removes what is older than a log is kept, batch by batch. */
export async function removeOldLines(db: Db, keptDays: { build: number; deploy: number }): Promise<void> {
  for (const book of await allBooks(db)) {
    while ((await removeOldestLines(db, book, { olderThanDays: keptDays[book.stream] })) > 0) {}
  }
}
