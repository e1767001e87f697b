/** The schedule of backups on a real database; due times are moved, never waited for. */
import assert from "node:assert/strict"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { backupState, setBackupSchedule } from "@superstep/control/backups/queries"
import { foldersOf } from "@superstep/control/home/folders"
import { homeIdOf } from "@superstep/control/home/home"
import { exampleDeployment, startApi, type TestApi } from "@superstep/control/testing/api"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { openHome } from "../home/home.js"
import { backupName, superseded } from "./names.js"
import { type BackupsOptions, startScheduledBackups } from "./schedule.js"

const past = new Date("2026-01-01T00:00:00Z")

async function start(api: TestApi, options: Partial<BackupsOptions> = {}) {
  const home = options.home ?? (await openHome(join(temporaryFolder(), "home")))
  const plan = { schedule: "@yearly", folder: join(temporaryFolder(), "backups"), keep: 2 }
  const made: string[] = []
  const reported: string[] = []
  const backups = await startScheduledBackups({
    home,
    databaseUri: api.db.uri,
    plan,
    make: async (file) => {
      made.push(file)
      writeFileSync(file, "all of it")
      return undefined
    },
    tell: (words) => reported.push(words),
    retryMs: 1,
    ...options,
  })
  return { home, plan: options.plan ?? plan, made, reported, [Symbol.asyncDispose]: () => backups.stop() }
}

const untilState = async (
  api: TestApi,
  what: string,
  is: (state: Awaited<ReturnType<typeof backupState>>) => boolean,
) => {
  await until(async () => is(await backupState(api.db)), { what })
  return backupState(api.db)
}

test("a backup that became due while nothing ran is made, once, and the next one is due later", async () => {
  await using api = await startApi()
  await setBackupSchedule(api.db, "@yearly", past)

  await using running = await start(api)
  const state = await untilState(api, "a backup is recorded", (it) => it?.last_size_bytes === 9)

  assert.deepEqual([state?.failures, state?.late_seconds, running.made.length], [0, 0, 1])
  assert.deepEqual(readdirSync(running.plan.folder), [running.made[0]?.split("/").at(-1)])
})

test("a schedule that is set for the first time, or changed, is due at its next time, and can be removed", async () => {
  await using api = await startApi()
  const isLater = async () => {
    const row = await api.db.row<{ is: boolean }>(sql`select due_at > now() as is from backup_schedule`)
    return row?.is === true
  }

  const first = await start(api)
  await until(isLater, { what: "it is stored" })
  await first[Symbol.asyncDispose]()
  await api.db.run(sql`update backup_schedule set due_at = ${past}, schedule = '@monthly'`)
  const changed = await start(api)
  await until(isLater, { what: "the change is stored" })
  await changed[Symbol.asyncDispose]()
  await using _none = await start(api, { plan: undefined as never })

  await until(async () => (await backupState(api.db)) === undefined, { what: "the schedule is gone" })
  assert.deepEqual([first.made, changed.made], [[], []])
})

test("a failed backup is tried again until one succeeds; operators hear of it, tenants do not", async () => {
  await using api = await startApi()
  await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await setBackupSchedule(api.db, "@yearly", past)
  let tries = 0
  const make = async (file: string) => {
    if (++tries < 3) return "no space left on device"
    writeFileSync(file, "all of it")
    return undefined
  }

  await using running = await start(api, { make })
  await untilState(api, "a backup is recorded", (it) => it?.last_size_bytes === 9)

  assert.equal(running.reported.length, 2)
  assert.match(running.reported[0] ?? "", /tried again: no space left/)
  const operator = { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId }
  const all = await api.call("GET", "/v2/events?limit=100&order=asc&all_workspaces=true", { headers: operator })
  const failed = all.body.resources.filter(({ type }: { type: string }) => type === "backup.failed")
  assert.deepEqual(
    failed.map((it: { workspace_id: string | null; data: object }) => [it.workspace_id, it.data]),
    [1, 2].map((failures) => [null, { failure: "no space left on device", failures }]),
  )
  const own = await api.call("GET", "/v2/events?limit=100")
  assert.ok(!own.text.includes("backup.failed"))
})

test("a folder that cannot be made is a failure, and so is a backup that nobody wrote", async () => {
  await using api = await startApi()
  await setBackupSchedule(api.db, "@yearly", past)
  const file = join(temporaryFolder(), "file")
  writeFileSync(file, "")

  await using blocked = await start(api, { plan: { schedule: "@yearly", folder: join(file, "backups"), keep: 1 } })
  await until(() => blocked.reported.some((words) => /ENOTDIR/.test(words)), {
    what: "the folder's failure is reported",
  })
  await blocked[Symbol.asyncDispose]()
  await using absent = await start(api, { make: async () => undefined })
  await until(() => absent.reported.some((words) => /ENOENT/.test(words)), { what: "the missing file is reported" })

  assert.equal((await backupState(api.db))?.age_seconds, null)
})

test("a stop ends the backup under way, which counts neither as made nor as failed", async () => {
  await using api = await startApi()
  await setBackupSchedule(api.db, "@yearly", past)
  let isUnderWay = false
  const make = (_: string, signal: AbortSignal) =>
    new Promise<string>((resolve) => {
      isUnderWay = true
      signal.addEventListener("abort", () => resolve("was ended by SIGTERM"))
    })
  const running = await start(api, { make })
  await until(() => isUnderWay, { what: "a backup is under way" })

  await running[Symbol.asyncDispose]()

  const state = await backupState(api.db)
  assert.deepEqual([state?.age_seconds, state?.failures, running.reported], [null, 0, []])
})

test("the oldest backups of this installation are removed, and no other file", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const homeId = await homeIdOf(foldersOf(home.folder))
  const at = (day: number) => backupName(homeId, new Date(Date.UTC(2026, 0, day, 2)))
  const others = [backupName("ffffffff-0000", past), "notes.txt", `${at(1)}.partial`]

  assert.match(at(3), /^superstep-[0-9a-f]{8}-20260103T020000Z\.tar\.gz$/)
  assert.deepEqual(superseded([at(2), ...others, at(1), at(4), at(3)], homeId, 2, at(4)), [at(2), at(1)])
  assert.deepEqual(superseded([at(1)], homeId, 2, at(1)), [])
  assert.deepEqual(superseded([at(9), at(2)], homeId, 1, at(2)), [at(9)], "one that was made while the clock was ahead")
})

test("metrics tell the age of the last success, and /health warns of one that is long due", async () => {
  await using api = await startApi()
  const metrics = async () => (await api.call("GET", "/metrics", { headers: { "x-api-key": api.orgKey } })).text
  const warnings = async () => (await api.call("GET", "/health")).body.warnings
  const without = await metrics()
  await setBackupSchedule(api.db, "@daily", new Date(Date.now() + 1000 * 3600))

  const early = await warnings()
  await api.db.run(sql`
    update backup_schedule set last_success_at = now() - interval '27 hours', last_file = 'a', last_size_bytes = 5,
      due_at = now() - interval '3 hours 1 minute', failures = 4, last_failure = 'no space left on device'`)

  assert.ok(!without.includes("superstep_backup"))
  assert.equal(early, undefined)
  assert.match(await metrics(), /^superstep_backup_last_success_age_seconds 972\d\d/m)
  assert.match(await metrics(), /^superstep_backup_failures 4$/m)
  assert.deepEqual(await warnings(), [
    "a scheduled backup has been due for 3 hours, and 4 tries have failed; see logs/cli.log in the data folder",
  ])
})
