import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import type { LogStream } from "./log-line.js"
import { appendLogLines, lastLogLines } from "./operations.js"
import { keepQuota, removeOldLines } from "./quota.js"

async function withLines(db: Database, count: number, stream: LogStream = "deploy") {
  const deploymentId = await addDeployment(db)
  const revisionId = await addRevision(db, deploymentId)
  const lines = Array.from({ length: count }, (_, index) => `line ${index}`)
  const bytes = (await appendLogLines(db, revisionId, stream, lines)) ?? 0
  return { deploymentId, revisionId, bytes }
}
const messagesOf = async (db: Database, revisionId: string, stream: LogStream = "deploy") =>
  (await lastLogLines(db, revisionId, stream, 100_000)).map(({ message }) => message)
const booked = (db: Database, deploymentId: string) =>
  db.row<{ booked: number; real: number }>(sql`
    select (select sum(bytes) from log_books where deployment_id = ${deploymentId})::bigint as booked,
      (select coalesce(sum(log_line_bytes(message)), 0) from log_lines where deployment_id = ${deploymentId})::bigint as real`)

test("over the quota the oldest lines are deleted, and the log says how many; an agent's output does not displace a build's log (G4)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, revisionId, bytes } = await withLines(db, 10_000)
  const reported: number[] = []
  const onDropped = async (_: unknown, { lines }: { lines: number }) => reported.push(lines)

  await keepQuota(db, { deploymentId, revisionId, quotaBytes: bytes }, onDropped)
  assert.deepEqual(reported, [], "at the quota nothing goes")
  await keepQuota(db, { deploymentId, revisionId, quotaBytes: bytes / 2 }, onDropped)

  const left = await messagesOf(db, revisionId)
  const [dropped = 0] = reported
  assert.equal(left[0], `line ${dropped}`)
  assert.equal(left.at(-2), "line 9999")
  assert.match(left.at(-1) ?? "", new RegExp(`^\\[${dropped} lines dropped: .*exceed \\d+ KB\\]$`))
  const sums = await booked(db, deploymentId)
  assert.equal(sums?.booked, sums?.real)
  assert.ok((sums?.real ?? 0) <= bytes / 2)

  const other = await withLines(db, 8000)
  await appendLogLines(db, other.revisionId, "build", ["built"])

  await keepQuota(db, { ...other, quotaBytes: other.bytes / 2 })

  assert.deepEqual(await messagesOf(db, other.revisionId, "build"), ["built"])
})

test("lines are deleted after their time, for each stream (G5)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, revisionId } = await withLines(db, 5000)
  await appendLogLines(db, revisionId, "build", ["built"])
  await db.run(sql`update log_lines set at = at - interval '8 days'`)
  await appendLogLines(db, revisionId, "deploy", ["today"])

  await removeOldLines({ db, failures: new MemberFailures(silent) }, { build: 30, deploy: 7 })

  assert.deepEqual(await messagesOf(db, revisionId), ["today"])
  assert.deepEqual(await messagesOf(db, revisionId, "build"), ["built"])
  const sums = await booked(db, deploymentId)
  assert.equal(sums?.booked, sums?.real)
})
