import assert from "node:assert/strict"
import test from "node:test"
import type { BuildLogs, BuildState } from "@superstep/machines/port/port"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { claimNextRevision } from "../revisions/claims.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { runBuild } from "./build-stage.js"
import type { StageInput } from "./stage.js"

/**
 * Follows a build whose node is lost.
 * @param logs  what its machine gives of the log
 * @returns     the log that is stored
 */
async function storedLog(logs: (from: number) => BuildLogs): Promise<string[]> {
  await using db = await freshDatabase({ migrations })
  await addRevision(db, await addDeployment(db), { status: "BUILDING", stage: "build" })
  const open = { all: ["build"], reserved: [] } as const
  const revision = await claimNextRevision(db, { owner: "p1", leaseMs: 60_000, open, builds: 1 })
  assert.ok(revision)
  const states: BuildState[] = [{ state: "running" }, { state: "ended", why: "its node is lost" }]
  const builds = {
    state: async () => states.shift(),
    logs: async (_: string, from: number) => logs(from),
    watch: async () => undefined,
    forgetResult: async () => undefined,
  }
  const context = pipelineContext({ db, machine: { builds }, limits: { logQuotaBytes: 1e6 } })
  const input = { context, revision, signal: new AbortController().signal } as unknown as StageInput

  await assert.rejects(runBuild(input), /its node is lost/)
  const { revision_id: id } = revision
  const rows = await db.rows<{ message: string }>(
    sql`select message from log_lines where revision_id = ${id} order by log_line_id`,
  )
  return rows.map(({ message }) => message)
}

test("the end of a build's log is read again when its machine cannot give it at once", async () => {
  const answers: BuildLogs[] = [
    { lines: [{ message: "first" }], next: 1 },
    { lines: [], next: 1, unread: "it does not answer" },
    { lines: [], next: 1, unread: "it does not answer" },
    { lines: [{ message: "last" }], next: 2 },
  ]

  const log = await storedLog((from) => answers.shift() ?? { lines: [], next: from })

  assert.deepEqual(log, ["first", "last"])
})

test("a build's log says that its end is missing", async () => {
  const log = await storedLog((from) =>
    from === 0 ? { lines: [{ message: "first" }], next: 1 } : { lines: [], next: from, unread: "it does not answer" },
  )

  assert.deepEqual(log, ["first", "the end of this log is missing: it could not be read"])
})
