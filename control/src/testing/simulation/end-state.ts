/** Where every history must come to once faults have stopped, within a stated time. */
import { isDeepStrictEqual } from "node:util"
import { sql } from "@superstep/toolkit/db/sql"
import type { Role } from "../../revisions/revision.js"
import type { Client } from "./clients.js"
import type { World } from "./world.js"

interface Row {
  readonly revision_id: string
  readonly stage: string | null
  readonly status: string
  readonly role: Role | null
  readonly weight: number | null
  readonly is_deleted: boolean
  readonly is_paused: boolean
  readonly is_asleep: boolean
  readonly is_waking: boolean
  readonly least: number
  readonly unit_id: string | null
  readonly is_ready: boolean | null
}

/** No fault happens from now on, and nothing is asked for any more. */
export function calm(world: World, clients: readonly Client[]): void {
  world.faults.areOn = false
  for (const { deploymentId } of clients) {
    const state = world.units.stateOf(deploymentId)
    Object.assign(state, { isShort: false })
    for (const pins of state.pins.values()) if (pins.threads > 0) pins.has_runs = true
  }
}

/** @returns  why the deployment is not where it should be; empty when it is */
export async function unsettled(world: World, { deploymentId }: Client): Promise<string[]> {
  const rows = await world.db.rows<Row>(sql`
    select r.revision_id, r.stage, r.status, r.role, r.weight, d.delete_requested_at is not null as is_deleted,
      d.desired_run_state = 'paused' as is_paused, s.deployment_id is not null and not s.is_waking as is_asleep,
      coalesce(s.is_waking, false) as is_waking,
      coalesce((r.source_config -> 'resource_spec' ->> 'min_scale')::integer, 1) as least, u.unit_id, u.is_ready
    from deployments d join revisions r on r.deployment_id = d.deployment_id left join units u using (revision_id)
      left join sleeps s on s.deployment_id = d.deployment_id
    where d.deployment_id = ${deploymentId} order by r.seq, u.ordinal`)
  const units = [...world.units.all.values()].filter((unit) => unit.deploymentId === deploymentId)
  const orphans = units.filter(({ id }) => !rows.some(({ unit_id }) => unit_id === id))
  const problems = orphans.map(({ id, process }) => `the machine has the unit ${id} (${process}), which has no row`)
  const drained = units.filter(({ process, isDisrupted }) => process === "running" && isDisrupted)
  problems.push(...drained.map(({ id }) => `the unit ${id} is still drained by its node`))
  const [first] = rows
  if (!first) return problems
  if (first.is_deleted) return [...problems, "it was deleted, and is still there"]
  const unfinished = rows.filter(({ stage }) => stage !== null)
  problems.push(...unfinished.map((it) => `revision ${it.revision_id} is at its stage ${it.stage}`))
  return [...problems, ...problemsOfRoles(world, rows, deploymentId)]
}

function problemsOfRoles(world: World, rows: readonly Row[], deploymentId: string): string[] {
  const problems: string[] = []
  const [{ is_paused = false, is_asleep = false, is_waking = false } = {}] = rows
  const isUp = !(is_paused || is_asleep)
  const serving = rows.filter(({ role }) => role === "serving")
  const canary = rows.find(({ role }) => role === "canary")
  const passing = rows.filter(({ role }) => role === "starting" || role === "retiring" || role === "standby")
  if (serving.length > 0 && isUp)
    problems.push(...passing.map((it) => `revision ${it.revision_id} is still ${it.role}`))
  if (passing.some(({ role }) => role === "retiring" || role === "starting")) problems.push("units have not ended")
  if (serving.length === 0) return problems
  if (!isUp) {
    for (const { unit_id } of rows)
      if (world.units.all.get(unit_id ?? "")?.process === "running")
        problems.push(`the unit ${unit_id} runs while its deployment is ${is_paused ? "paused" : "asleep"}`)
    return problems
  }
  if (is_waking) problems.push("it is still being woken")
  if (serving.length < (serving[0]?.least ?? 1)) problems.push(`${serving.length} units serve`)
  const route = world.edge.routeOf(deploymentId)
  for (const { unit_id, revision_id } of serving) {
    const unit = world.units.all.get(unit_id ?? "")
    if (!unit?.isReady || unit.answers !== "all") problems.push(`the unit ${unit_id} that serves is not ready`)
    if (!world.edge.sendsTo(unit_id ?? "")) problems.push(`the edge does not send to the unit ${unit_id} that serves`)
    if (route && route.revision_id !== revision_id) problems.push(`the edge sends to ${route.revision_id}`)
  }
  const routed = route?.units.map(({ unit_id }) => unit_id) ?? []
  if (routed.length !== serving.length) problems.push(`the edge sends to ${routed.length} of ${serving.length} units`)
  if (canary?.weight === 0 || canary?.weight === 100) problems.push(`the canary has the weight ${canary.weight}`)
  const wanted = [
    { revision_id: serving[0]?.revision_id, weight: null },
    ...(canary ? [{ revision_id: canary.revision_id, weight: canary.weight }] : []),
  ]
  const { traffic, pins } = world.units.stateOf(deploymentId)
  if (!isDeepStrictEqual(traffic, wanted))
    problems.push(`threads are shared out as ${JSON.stringify(traffic)} in place of ${JSON.stringify(wanted)}`)
  for (const [revisionId, { threads }] of pins)
    if (threads > 0 && !rows.some((it) => it.revision_id === revisionId && it.unit_id !== null))
      problems.push(`${threads} threads are pinned to ${revisionId}, which has no units`)
  return problems
}
