/** Each loop that deletes what is old: what fails for one member, or in one step, stops none of the others. */
import assert from "node:assert/strict"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { Artifacts } from "@superstep/machines/port/port"
import { type ProcessPlace, processPlace } from "@superstep/machines/process/testing/place"
import type { Database } from "@superstep/toolkit/db/database"
import { identifier, type Sql, sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { deleteOldRecords } from "./background.js"
import { appendLogLines } from "./logs/operations.js"
import { deleteUnneeded } from "./pipeline/retention.js"
import type { PipelineContext } from "./planner/context.js"
import { addArtifactRow, addDeployment, addRevision } from "./revisions/testing/rows.js"
import { migrations } from "./testing/api.js"

/** Runs every loop once. @returns  in how many places something failed */
async function clean(db: Database, { open }: ProcessPlace, change: (artifacts: Artifacts) => Partial<Artifacts>) {
  const failures = new MemberFailures(silent)
  const machine = open()
  const artifacts = { ...machine.artifacts, ...change(machine.artifacts) }
  const limits = { keptArtifacts: 2, keptLogDays: { build: 7, deploy: 7 } } as PipelineContext["limits"]
  const context = { db, failures, log: silent, crashPoint: () => undefined, limits, machine: { ...machine, artifacts } }
  await deleteUnneeded(context)
  await deleteOldRecords(context, { keepEventsDays: 30, keepMetricsHours: 24 })
  return failures.size
}

interface Member {
  readonly deploymentId: string
  readonly artifacts: readonly string[]
  readonly cache: string
}

/** A deployment with something old of each kind that is deleted one by one. */
async function addMember(db: Database, { folders }: ProcessPlace, name: string): Promise<Member> {
  const deploymentId = await addDeployment(db)
  const artifacts = [`old-${name}`, `unknown-${name}`]
  const [artifactId = ""] = artifacts
  await addArtifactRow(db, deploymentId, artifactId)
  for (const id of artifacts) mkdirSync(join(folders.artifacts, id), { recursive: true })
  const cache = newId()
  mkdirSync(join(folders.cache, cache), { recursive: true })
  await db.run(sql`update deployments set secrets_version = 2 where deployment_id = ${deploymentId}`)
  await db.run(sql`insert into secrets values (${deploymentId}, 1, 'A', 'x'), (${deploymentId}, 2, 'A', 'y')`)
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
  await appendLogLines(db, revisionId, "deploy", ["an old line"])
  return { deploymentId, artifacts, cache }
}

for (const stuckAt of [0, 1])
  test(`what cannot be deleted of one deployment does not keep that of another (${stuckAt + 1} of 2)`, async () => {
    await using db = await freshDatabase({ migrations })
    const place = processPlace()
    const members = [await addMember(db, place, "one"), await addMember(db, place, "other")]
    const stuck = members[stuckAt] as Member
    await db.run(sql`update artifacts set created_at = now() - interval '2 hours'`)
    await db.run(sql`update log_lines set at = now() - interval '8 days'`)
    await db.run(sql`create table stuck (deployment_id uuid)`)
    await db.run(sql`insert into stuck values (${stuck.deploymentId})`)
    await db.run(sql`
      create function refuse_stuck() returns trigger language plpgsql as $$ begin
        if old.deployment_id in (select deployment_id from stuck) then raise exception 'refused'; end if;
        return old;
      end $$`)
    for (const table of ["secrets", "log_lines"])
      await db.run(sql`
        create trigger refuse before delete on ${identifier(table)} for each row execute function refuse_stuck()`)

    const failed = await clean(db, place, ({ remove, removeCache }) => ({
      remove: async (id) => (stuck.artifacts.includes(id) ? Promise.reject(new Error("refused")) : remove(id)),
      removeCache: async (id) => (id === stuck.cache ? Promise.reject(new Error("refused")) : removeCache(id)),
    }))

    const deployments = (query: Sql) => db.rows(query)
    assert.deepEqual(readdirSync(place.folders.artifacts).toSorted(), stuck.artifacts)
    assert.deepEqual(readdirSync(place.folders.cache), [stuck.cache])
    assert.deepEqual(await deployments(sql`select deployment_id from secrets where secrets_version = 1`), [
      { deployment_id: stuck.deploymentId },
    ])
    assert.deepEqual(await deployments(sql`select deployment_id from log_lines`), [
      { deployment_id: stuck.deploymentId },
    ])
    assert.equal(failed, 5, "two artifacts, a cache, secrets, lines")
  })

/** What deletes by one statement for all, by the table that it writes first. */
const tables = [
  "uploads",
  "events",
  "unit_samples",
  "idempotency_keys",
  "console_sessions",
  "git_deliveries",
  "previews",
]

test("a table that cannot be written, and a machine that lists nothing, stop no step of the cleaning", async () => {
  await using db = await freshDatabase({ migrations })
  const place = processPlace()
  await db.run(sql`create table refused (name text)`)
  await db.run(sql`create table written (name text)`)
  await db.run(sql`
    create function note() returns trigger language plpgsql as $$ begin
      if tg_table_name in (select name from refused) then raise exception 'refused'; end if;
      insert into written values (tg_table_name);
      return null;
    end $$`)
  for (const table of tables)
    await db.run(sql`
      create trigger note before delete or update on ${identifier(table)} for each statement execute function note()`)
  const lists = ["list", "caches"] as const

  for (const broken of [...tables, ...lists]) {
    await db.run(sql`delete from written`)
    await db.run(sql`delete from refused`)
    await db.run(sql`insert into refused values (${broken})`)
    const listed: string[] = []
    const noted = (name: (typeof lists)[number], list: () => Promise<string[]>) => async () => {
      if (name === broken) throw new Error("refused")
      listed.push(name)
      return list()
    }

    const failed = await clean(db, place, ({ list, caches }) => ({
      list: noted("list", list),
      caches: noted("caches", caches),
    }))

    const written = await db.rows<{ name: string }>(sql`select distinct name from written`)
    const done = [...written.map(({ name }) => name), ...listed].toSorted()
    assert.deepEqual(done, [...tables, ...lists].filter((name) => name !== broken).toSorted(), broken)
    assert.equal(failed, 1, broken)
  }
})
