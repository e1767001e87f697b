import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import type { Route, Table } from "@superstep/edge/table"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { v7 as newId } from "uuid"
import { insertUnit } from "../planner/unit.js"
import { masterKey, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { migrations } from "../testing/api.js"
import { keptEdge } from "./testing/kept-edge.js"
import { addServing, key, routingOn, unitsOf } from "./testing/routing-on.js"

test("a table serves many calls at once, and a unit whose token cannot be opened is missing from it alone", async () => {
  await using db = await freshDatabase({ migrations })
  const good = await addServing(db)
  const sealedBefore = await addServing(db, masterKey(randomBytes(32)))
  const { publish, taken } = routingOn(db)

  const first = publish()
  await db.run(sql`update units set is_ready = false where unit_id = ${good.unit_id}`)
  await Promise.all([first, ...Array.from({ length: 50 }, publish)])

  assert.ok(taken.length <= 2, `${taken.length} pushes`)
  assert.deepEqual(unitsOf(taken.at(-1)), {
    [good.deployment_id]: [0, "held"],
    [sealedBefore.deployment_id]: [0, "held"],
  })
  await db.run(sql`update units set is_ready = true`)
  await publish()
  assert.deepEqual(unitsOf(taken.at(-1)), {
    [good.deployment_id]: [1, "serving"],
    [sealedBefore.deployment_id]: [0, "held"],
  })
})

test("a change of one deployment reads no other one, and what is in use is not sent again (T1)", async () => {
  await using db = await freshDatabase({ migrations })
  const changed = await addServing(db)
  await addServing(db, masterKey(randomBytes(32)))
  const unreadable: string[] = []
  const log = createLog({ process: "test", level: "warn" }, { write: (line) => void unreadable.push(line) })
  const { publish, taken } = routingOn(db, { log })

  await publish()
  await publish()
  await db.run(sql`update units set is_ready = false where unit_id = ${changed.unit_id}`)
  await publish()

  assert.deepEqual(
    taken.map((table) => unitsOf(table)[changed.deployment_id]),
    [
      [1, "serving"],
      [0, "held"],
    ],
  )
  assert.equal(unreadable.length, 1, "the other one was read once")
})

test("nothing that changes a route is missed, whoever writes it and however it is combined (T2)", async () => {
  for (const seed of [1, 2]) {
    await using db = await freshDatabase({ migrations })
    const random = seededRandom(seed)
    const units = [await addServing(db), await addServing(db), await addServing(db)]
    for (const { deployment_id: deploymentId, revision_id: revisionId } of units)
      await insertUnit(db, key, { deploymentId, revisionId, ordinal: 1, isReady: true })
    const { publish, taken } = routingOn(db)
    // Each change of one deployment twice, one way and the other; then whatever chance combines.
    const inTurn = [false, true].flatMap((isSo) => kinds.map(([name, change]) => ({ name, change, isSo })))
    for (let step = 0; step < inTurn.length + 30; step++) {
      const [picked, some] = random.pick(kinds)
      const { name, change, isSo } = inTurn[step] ?? { name: picked, change: some, isSo: random.below(2) === 0 }
      const unit = inTurn[step] ? units[0] : random.pick(units)
      for (const statement of unit ? change(unit, isSo) : []) await db.run(statement)
      if (!inTurn[step] && random.below(3) === 0) continue
      await publish()
      // It reads everything.
      const whole = routingOn({ ...db, transaction: withoutTrace(db) })
      await whole.publish()
      assert.deepEqual(
        byDeployment(taken.at(-1)),
        byDeployment(whole.taken.at(-1)),
        `seed ${seed}, step ${step}: ${name}`,
      )
      await publish()
    }
  }
})

/** Each transaction is rolled back: a number that it takes would make others read everything. */
const withoutTrace =
  (db: Database): Database["transaction"] =>
  async (work) => {
    const undone = new Error("rolled back")
    const results: Awaited<ReturnType<typeof work>>[] = []
    const transaction = db.transaction(async (tx) => {
      results.push(await work(tx))
      throw undone
    })
    await transaction.catch((error: unknown) => {
      if (error !== undone) throw error
    })
    return results[0] as Awaited<ReturnType<typeof work>>
  }

interface AnyUnit {
  readonly unit_id: string
  readonly revision_id: string
  readonly deployment_id: string
}

const ofDeployment = ({ deployment_id }: AnyUnit) => sql`where deployment_id = ${deployment_id}`
const workspaceOf = (unit: AnyUnit) => sql`select workspace_id from deployments ${ofDeployment(unit)}`
const addKey = (workspace: Sql, scope: string) =>
  sql`insert into api_keys (api_key_id, workspace_id, name, prefix, sha256, scopes)
      values (${newId()}, (${workspace}), 'k', 'p', ${randomBytes(32).toString("hex")}, array[${scope}])`

/** Each is a change of what routes depend on, in an order in which none hides the next one. */
const changes: Readonly<Record<string, (unit: AnyUnit, isSo: boolean) => Sql[]>> = {
  rule: (unit, isSet) => {
    const rule = { origins: null, methods: [], headers: [], exposed: [], credentials: false, max_age_seconds: null }
    return [sql`update units set cross_origin = ${isSet ? JSON.stringify(rule) : null} ${ofDeployment(unit)}`]
  },
  type: (unit, isProduction) => {
    const config = JSON.stringify({ deployment_type: isProduction ? "prod" : "dev" })
    return [sql`update deployments set source_config = source_config || ${config}::jsonb ${ofDeployment(unit)}`]
  },
  name: (unit) => [sql`update deployments set route_name = ${newId()} ${ofDeployment(unit)}`],
  refusal: ({ deployment_id }, isRefused) => {
    if (!isRefused) return [sql`delete from sleeps where deployment_id = ${deployment_id}`]
    return [
      sql`insert into sleeps (deployment_id, refused_until) values (${deployment_id}, now() + interval '1 hour')
          on conflict (deployment_id) do update set refused_until = excluded.refused_until`,
    ]
  },
  refusalThatEnds: ({ deployment_id }) => {
    // In the past: time has gone on since the table was read.
    return [sql`update sleeps set refused_until = now() where deployment_id = ${deployment_id}`]
  },
  readiness: (unit, isReady) => [sql`update units set is_ready = ${isReady} ${ofDeployment(unit)}`],
  order: (unit, isFirst) => [
    sql`update units set ordinal = ${isFirst ? 0 : 2} ${ofDeployment(unit)} and unit_id = ${unit.unit_id}`,
  ],
  token: ({ unit_id }) => [
    sql`update units set token_sealed = ${seal(key, newId(), contextOf.unit(unit_id))} where unit_id = ${unit_id}`,
  ],
  callerKey: (unit, mayRun) => [addKey(workspaceOf(unit), mayRun ? "run" : "read")],
  expiredKeys: () => [sql`update api_keys set expires_at = now() - interval '1 hour'`],
  keysThatExpireLater: () => [sql`update api_keys set expires_at = now() + interval '1 hour'`],
  keyOfTheInstallation: (_, mayRun) => [addKey(sql`null`, mayRun ? "run" : "read")],
  revocation: (unit, isOwn) => {
    const workspace = isOwn ? sql`workspace_id = (${workspaceOf(unit)})` : sql`workspace_id is null`
    return [sql`update api_keys set revoked_at = now() where ${workspace}`]
  },
  workspace: (unit) => {
    const id = newId()
    return [
      sql`insert into workspaces (workspace_id, name) values (${id}, ${id})`,
      sql`update deployments set workspace_id = ${id} ${ofDeployment(unit)}`,
    ]
  },
  hostName: (unit) => [
    sql`insert into host_names (host_name, deployment_id, verified_at) values (${`${newId()}.example`}, ${unit.deployment_id}, now())`,
  ],
  certificate: (unit) => {
    const sha256 = randomBytes(32).toString("hex")
    return [
      sql`update host_names set certificate = '', certificate_sha256 = ${sha256}, private_key_sealed = '', valid_from = now(), valid_until = now()
          ${ofDeployment(unit)}`,
    ]
  },
  verification: (unit, isVerified) => [
    sql`update host_names set verified_at = case when ${isVerified} then now() end ${ofDeployment(unit)}`,
  ],
  noHostNames: (unit) => [sql`delete from host_names ${ofDeployment(unit)}`],
  pause: (unit, isPaused) => [
    sql`update deployments set desired_run_state = ${isPaused ? "paused" : "running"} ${ofDeployment(unit)}`,
  ],
  standbyRole: ({ revision_id }) => [sql`update revisions set role = 'standby' where revision_id = ${revision_id}`],
  servingRole: ({ revision_id }) => [sql`update revisions set role = 'serving' where revision_id = ${revision_id}`],
  removedUnit: ({ unit_id }, isRemoved) => (isRemoved ? [sql`delete from units where unit_id = ${unit_id}`] : []),
  deletion: (unit, isDeleted) => [
    sql`update deployments set delete_requested_at = case when ${isDeleted} then now() end ${ofDeployment(unit)}`,
  ],
}
const kinds = Object.entries(changes)

const byDeployment = (table: Table | undefined): Record<string, Route> =>
  Object.fromEntries((table?.routes ?? []).map((route) => [route.deployment_id, route]))

test("a key that expires, and a refusal that ends, change the table without a statement", async () => {
  await using db = await freshDatabase({ migrations })
  const unit = await addServing(db)
  const { publish, taken } = routingOn(db)
  await db.run(addKey(workspaceOf(unit), "run"))
  await db.run(sql`update units set is_ready = false`)
  await db.run(
    sql`insert into sleeps (deployment_id, refused_until) values (${unit.deployment_id}, now() + interval '1 hour')`,
  )
  await db.run(sql`update api_keys set expires_at = now() + interval '1 hour'`)
  const now = () => [taken.at(-1)?.routes[0]?.state, taken.at(-1)?.routes[0]?.keys.length]
  await publish()
  assert.deepEqual(now(), ["full", 1])

  // As if time had gone on.
  await withoutNotes(db, [
    sql`update sleeps set refused_until = clock_timestamp()`,
    sql`update api_keys set expires_at = clock_timestamp()`,
  ])
  await publish()

  assert.deepEqual(now(), ["held", 0])
})

/** No trigger sees these statements. */
const withoutNotes = (db: Database, statements: readonly Sql[]): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    for (const statement of statements) await tx.run(statement)
  })

test("keys and routes that a database has lost are lost to the edges, whose table gets a higher number than they had (T2, T3)", async () => {
  await using db = await freshDatabase({ migrations })
  const unit = await addServing(db)
  const { publish, taken } = routingOn(db)
  await publish()
  const before = taken.at(-1)
  await db.run(addKey(workspaceOf(unit), "run"))
  await publish()
  const keys = taken.map(({ routes }) => routes[0]?.keys.length)
  assert.deepEqual(keys, [0, 1])

  // A standby is promoted that the last commits had not reached.
  await withoutNotes(db, [
    sql`delete from api_keys`,
    sql`update edge_tables set generation = ${before?.generation ?? 0}`,
  ])
  await publish()

  assert.deepEqual(taken.at(-1)?.routes, before?.routes)
  assert.ok((taken.at(-1)?.generation ?? 0) > (taken[1]?.generation ?? 0), "no edge takes the new table for one it has")
})

test("after a table of another control plane everything is read: that one may have taken notes (T2)", async () => {
  await using db = await freshDatabase({ migrations })
  const unit = await addServing(db)
  const edge = keptEdge()
  const { publish, taken } = routingOn(db, { edge })
  await publish()

  await withoutNotes(db, [sql`update units set is_ready = false`])
  edge.becomes(70)
  await publish()

  assert.deepEqual(unitsOf(taken.at(-1)), { [unit.deployment_id]: [0, "held"] })
})

test("a reading whose end is unknown loses no change (T2)", async () => {
  await using db = await freshDatabase({ migrations })
  const unit = await addServing(db)
  let breaks = false
  const transaction: Database["transaction"] = async (work) => {
    const result = await db.transaction(work)
    if (breaks) throw new Error("the connection was lost after the commit")
    return result
  }
  const { publish, taken } = routingOn({ ...db, transaction })
  await publish()

  breaks = true
  await db.run(sql`update units set is_ready = false`)
  await assert.rejects(publish(), /after the commit/)
  breaks = false
  await publish()

  assert.deepEqual(unitsOf(taken.at(-1)), { [unit.deployment_id]: [0, "held"] })
})

test("an edge that lost its table gets it again, and one with a table of another control plane gets a higher number (T3)", async () => {
  await using db = await freshDatabase({ migrations })
  await addServing(db)
  const edge = keptEdge()
  const { publish, taken } = routingOn(db, { edge })
  await publish()

  edge.becomes(0)
  await publish()
  assert.deepEqual(taken[1], taken[0])

  // As when the database was restored from a backup, at a start and later.
  edge.becomes(70)
  await publish()
  assert.equal(taken.at(-1)?.generation, 71)
  edge.becomes(90)
  await routingOn(db, { edge }).publish()
  assert.equal(taken.at(-1)?.generation, 91)
})

test("the release before sends its table after a return to it, since nothing claims that edges have the one it sent last", async () => {
  await using db = await freshDatabase({ migrations })
  await addServing(db)
  // It saved this, and the number, with each table.
  await db.run(sql`update edge_tables set content_sha256 = 'of the table that it sent last'`)

  await routingOn(db).publish()

  assert.deepEqual(await db.row(sql`select generation > 0 as is_newer, content_sha256 from edge_tables`), {
    is_newer: true,
    content_sha256: "",
  })
})

test("a route that edges would refuse is left out, and all others are there (T4)", async () => {
  await using db = await freshDatabase({ migrations })
  const good = await addServing(db)
  const odd = await addServing(db)
  await db.run(sql`update units set cross_origin = '{"origins": "*"}' where unit_id = ${odd.unit_id}`)
  const { publish, taken } = routingOn(db)

  await publish()

  assert.deepEqual(unitsOf(taken.at(-1)), { [good.deployment_id]: [1, "serving"] })
})
