/** What users and the world do to a simulated installation: each is one event that the seed may choose. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { emptySourceConfig, emptySourceRevisionConfig } from "../../deployments/deployment.js"
import { deleteDeployment } from "../../deployments/operations.js"
import { askForRestart, lockDeployment, setDesiredRunState } from "../../deployments/queries.js"
import { abort, promote, setTraffic } from "../../deployments/traffic.js"
import { interrupt } from "../../revisions/operations.js"
import { insertRevision } from "../../revisions/queries.js"
import type { Trigger } from "../../revisions/revision.js"
import type { SourceConfig } from "../../revisions/source-config.js"
import { wakePipeline } from "../../revisions/wake-up.js"
import { seal } from "../../secrets/seal.js"
import { contextOf } from "../../secrets/sealed-columns.js"
import type { SimulatedUnit } from "./simulated-units.js"
import type { World } from "./world.js"

export interface Client {
  readonly workspaceId: string
  readonly deploymentId: string
  readonly config: SourceConfig
}

/** A deployment that has no revision yet. */
export async function addDeployment(world: World): Promise<Client> {
  const { random, db, key } = world
  const [workspaceId, deploymentId] = [newId(), newId()]
  const least = random.between(1, 2)
  const config: SourceConfig = {
    ...emptySourceConfig,
    deployment_type: random.pick(["prod", "dev_free_zero", "dev"]),
    resource_spec: { min_scale: least, max_scale: least + random.between(0, 2) },
    thread_pinning: random.pick(["paused", "none", null]),
    rollback_on: random.pick([null, { min_runs: 20 }]),
  }
  const password = seal(key, "password", contextOf.database(deploymentId))
  await db.transaction(async (tx) => {
    await tx.run(sql`insert into workspaces (workspace_id, name) values (${workspaceId}, ${workspaceId})`)
    await tx.run(sql`
      insert into deployments (deployment_id, workspace_id, name, route_name, source, source_config,
        source_revision_config, status, database_name, database_password_sealed)
      values (${deploymentId}, ${workspaceId}, ${deploymentId}, ${deploymentId}, 'github', ${JSON.stringify(config)}::jsonb,
        ${JSON.stringify(emptySourceRevisionConfig)}::jsonb, 'READY', ${`d_${deploymentId}`}, ${password})`)
    await tx.run(sql`
      insert into artifacts (artifact_id, deployment_id, platform, graphs)
      values (${`a-${deploymentId}`}, ${deploymentId}, 'simulated', '[]')`)
  })
  return { workspaceId, deploymentId, config }
}

/** A revision whose build has ended: its next stage is `deploy`. */
export async function deploy(
  world: World,
  client: Client,
  { trigger, weight }: { trigger: Trigger; weight: number | null },
) {
  const { deploymentId, workspaceId, config } = client
  const revisionId = newId()
  const { random } = world
  const temper = random.pick([
    ...Array.from({ length: 8 }, () => ({ startMs: [300, 4000], crashing: 20 }) as const),
    { startMs: [5000, 70_000], crashing: 50 } as const,
    { startMs: [300, 4000], crashing: 600 } as const,
    { startMs: [300, 3000], crashing: 1000 } as const,
  ])
  world.tempers.set(revisionId, temper)
  await world.db.transaction(async (tx) => {
    const deployment = await lockDeployment(tx, workspaceId, deploymentId)
    if (!deployment || deployment.delete_requested_at) return
    const source = { source: "github", sourceConfig: config, sourceRevisionConfig: emptySourceRevisionConfig } as const
    await insertRevision(tx, { revisionId, deploymentId, trigger, ...source, secretsVersion: 0, weight })
    await tx.run(sql`
      update revisions set stage = 'deploy', status = 'AWAITING_DEPLOY', artifact_id = ${`a-${deploymentId}`}
      where revision_id = ${revisionId}`)
    await tx.run(sql`update deployments set latest_revision_id = ${revisionId} where deployment_id = ${deploymentId}`)
    await wakePipeline(tx, deploymentId)
  })
}

export type Act = (world: World, client: Client) => unknown

const act =
  (work: (tx: Db, client: Client) => Promise<unknown>): Act =>
  ({ db }, client) =>
    db.transaction(async (tx) => {
      await work(tx, client)
      await wakePipeline(tx, client.deploymentId)
    })

export const restart = act((tx, client) => askForRestart(tx, client))

/** Its canary takes over, if it has one. */
export const promoteCanary: Act = async ({ db }, client) => {
  const row = await db.row<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${client.deploymentId} and role = 'canary'`)
  if (row) await db.transaction((tx) => promote(tx, { ...client, revisionId: row.revision_id }))
}

/** Of the revisions of a deployment, one that a client would name. */
const onRevision = (work: (tx: Db, ids: Client & { revisionId: string }, world: World) => Promise<unknown>): Act => {
  return async (world, client) => {
    const rows = await world.db.rows<{ revision_id: string }>(sql`
      select revision_id from revisions where deployment_id = ${client.deploymentId} and (stage is not null or role is not null)
      order by seq desc limit 3`)
    if (rows.length === 0) return
    const { revision_id } = world.random.pick(rows)
    await world.db.transaction((tx) => work(tx, { ...client, revisionId: revision_id }, world))
  }
}

/** A unit of the deployment whose process runs. */
const onUnit =
  (change: (world: World, unit: SimulatedUnit) => void): Act =>
  (world, { deploymentId }) => {
    const units = world.running().filter((unit) => unit.deploymentId === deploymentId)
    if (units.length > 0) change(world, world.random.pick(units))
  }

const tell = (world: World, unit: SimulatedUnit, change: Partial<SimulatedUnit>) => {
  Object.assign(unit, change)
  world.units.changed(unit)
}

/** One does not answer for some time. */
const beSilent = (answers: "live" | "nothing", longestMs: number) =>
  onUnit((world, unit) => {
    const { start } = unit
    unit.answers = answers
    world.clock.after(world.random.between(1000, longestMs), () => {
      if (unit.start === start && unit.process === "running") tell(world, unit, { answers: "all" })
    })
  })

/** A request comes to the edge. */
const request: Act = (world, { deploymentId }) => {
  const route = world.edge.routeOf(deploymentId)
  if (!route || route.state === "paused") return
  if (route.units.length === 0) return void world.askToWake(deploymentId)
  const unit = world.units.all.get(world.random.pick(route.units).unit_id)
  if (!unit?.isReady) return
  const { start } = unit
  world.edge.count(unit.id, 1)
  tell(world, unit, { runningRuns: unit.runningRuns + 1 })
  world.clock.after(world.random.between(50, 90_000), () => {
    world.edge.count(unit.id, -1)
    if (unit.start !== start || unit.process !== "running") return
    tell(world, unit, { runningRuns: Math.max(0, unit.runningRuns - 1), ended: unit.ended + 1 })
  })
}

const change = (work: (state: ReturnType<World["units"]["stateOf"]>, world: World) => void): Act => {
  return (world, { deploymentId }) => {
    work(world.units.stateOf(deploymentId), world)
    for (const unit of world.running()) if (unit.deploymentId === deploymentId) world.units.changed(unit)
  }
}

const away =
  (part: "database" | "machine" | "edge"): Act =>
  ({ faults, random }) =>
    faults.beAway(part, random.between(500, 150_000))

/** By name, with how often each is chosen. */
const acts: Readonly<Record<string, readonly [number, Act]>> = {
  deploy: [10, (world, client) => deploy(world, client, { trigger: "patch", weight: null })],
  "deploy a canary": [
    5,
    (world, client) => deploy(world, client, { trigger: "patch", weight: world.random.between(1, 99) }),
  ],
  "roll back": [2, (world, client) => deploy(world, client, { trigger: "rollback", weight: null })],
  interrupt: [3, onRevision((tx, ids) => interrupt(tx, ids))],
  promote: [3, onRevision((tx, ids) => promote(tx, ids))],
  abort: [2, onRevision((tx, ids) => abort(tx, ids))],
  "set traffic": [1, onRevision((tx, ids, { random }) => setTraffic(tx, ids, random.between(1, 99)))],
  pause: [2, act((tx, client) => setDesiredRunState(tx, client, "paused"))],
  resume: [4, act((tx, client) => setDesiredRunState(tx, client, "running"))],
  restart: [3, restart],
  delete: [0.3, act((tx, client) => deleteDeployment(tx, client, { force: false }))],
  request: [30, request],
  "a unit crashes": [6, onUnit((world, unit) => world.units.exit(unit))],
  "a worker crashes": [2, onUnit((world, unit) => tell(world, unit, { workerCrashes: unit.workerCrashes + 1 }))],
  "a unit hangs": [3, beSilent("nothing", 300_000)],
  "a unit is busy": [3, beSilent("live", 60_000)],
  "a unit is drained by its node": [
    3,
    onUnit((world, unit) => {
      const { start } = unit
      tell(world, unit, { isDisrupted: true })
      world.clock.after(world.random.between(500, 30_000), () => {
        if (unit.start !== start || unit.process !== "running") return
        // Also after faults have stopped: what a node ends cannot be kept.
        world.units.exit(unit)
      })
    }),
  ],
  "runs fail": [
    2,
    onUnit((world, unit) =>
      tell(world, unit, { ended: unit.ended + 30, failed: unit.failed + world.random.between(0, 30) }),
    ),
  ],
  "threads pause": [4, change((state, { random }) => Object.assign(state, { paused: random.between(0, 3) }))],
  "pinned threads are answered": [
    3,
    change(({ pins }) => {
      for (const it of pins.values()) if (it.threads > 0) it.has_runs = true
    }),
  ],
  "runs wait": [2, change((state) => Object.assign(state, { isShort: true }))],
  "there is room": [4, change((state) => Object.assign(state, { isShort: false }))],
  "the database is away": [0.7, away("database")],
  "the machine is away": [0.7, away("machine")],
  "the edge is away": [0.7, away("edge")],
  "the control plane is killed": [1.5, (world) => void world.startControlPlane()],
}

const total = Object.values(acts).reduce((sum, [weight]) => sum + weight, 0)

/** Lets one event happen that the seed chooses. */
export async function actOnce(world: World, clients: readonly Client[]): Promise<void> {
  const client = world.random.pick(clients)
  let chosen = world.random.next() * total
  for (const [name, [weight, does]] of Object.entries(acts)) {
    chosen -= weight
    if (chosen > 0) continue
    world.tell(`— ${name}`, client.deploymentId)
    try {
      await does(world, client)
    } catch (error) {
      if (!(error instanceof KnownError)) throw error
      world.tell("  refused", error.message)
    }
    return
  }
}
