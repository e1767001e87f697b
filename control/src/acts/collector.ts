/**
 * Takes what people answered, changed and deleted at agents into the audit log. An agent server keeps each act until it is confirmed, and its status
 * says that some wait.
 *
 * PA1 Each act becomes one entry, however often it is reported: the entry has its id. It is confirmed after the commit.
 * PA2 A deployment's own code could report acts that nobody did. So an act counts only for a person who is or was a member of the deployment's
 *     workspace, by the name that the account has, at a time when the deployment existed, and says at which deployment it was.
 * PA3 A deployment that fails, is slow, or reports without end holds up no other: each is asked apart, and adds `mostAnHour` entries in an hour.
 *     What is over stays at the agent server until the next hour.
 */
import { askActs, confirmActs } from "@superstep/machines/unit-client/unit-client"
import type { ReportedAct, UnitReport } from "@superstep/machines/unit-client/unit-replies"
import { limitedWorks } from "@superstep/toolkit/exec/limited-works"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import { insertEntry } from "../audit/queries.js"
import type { PipelineContext } from "../planner/context.js"
import type { UnitRow } from "../planner/facts.js"
import { allUnits } from "../planner/queries.js"
import { unitAddress } from "../planner/unit.js"
import { HourlyRoom } from "./hourly-room.js"
import { type ActingDeployment, type ActingPerson, deploymentOfUnit, membersEver } from "./queries.js"

const everyMs = 5000
// A deployment whose people answer more often than this is served later, not worse.
const mostAnHour = 2000
// A reply may have four megabytes, and a slow one takes ten seconds.
const mostAtOnce = 8

interface CollectorOptions {
  /** What a unit reported last; undefined while it does not answer. */
  readonly reportOf: (unitId: string) => UnitReport | undefined
}

export function startCollector(context: PipelineContext, { reportOf }: CollectorOptions): Repeated {
  const room = new HourlyRoom(mostAnHour)
  const work = async () => {
    const units = await context.failures.attempt("the search for what people did at agents", {}, async () =>
      (await allUnits(context.db)).filter(({ unit_id }) => reportOf(unit_id)?.has_acts === true),
    )
    // The units of a deployment share its database: one of them has all.
    await collectAll(context, [...new Map(units?.map((unit) => [unit.deployment_id, unit])).values()], room)
  }
  const collector = repeated(work, everyMs)
  collector.wake()
  return collector
}

/** Takes the acts of each deployment. Never throws. @param units  one of each */
export async function collectAll(context: PipelineContext, units: readonly UnitRow[], room: HourlyRoom): Promise<void> {
  const limited = limitedWorks(mostAtOnce)
  const what = "the collection of what people did at agents"
  const one = (unit: UnitRow) =>
    context.failures.attempt(what, { deployment_id: unit.deployment_id }, () => collect(context, unit, room))
  await Promise.all(units.map((unit) => limited(() => one(unit))))
}

/** @returns  how many acts were taken */
export async function collect(context: PipelineContext, unit: UnitRow, room: HourlyRoom): Promise<number> {
  const { db, log } = context
  const now = new Date()
  const left = room.left(unit.deployment_id, now.getTime())
  const deployment = await deploymentOfUnit(db, unit.unit_id)
  if (!deployment || left <= 0) return 0
  const acts = (await askActs(unitAddress(context, unit))).slice(0, left)
  if (acts.length === 0) return 0
  const { deployment_id, workspace_id } = deployment
  const ids = acts.map(({ person }) => person.person_id)
  const people = new Map((await membersEver(db, workspace_id, ids)).map((it) => [it.person_id, it]))
  const checked = acts.flatMap((act) => {
    const [person, about] = [people.get(act.person.person_id), aboutOf(act)]
    return person && about ? [{ act, person, about, now }] : []
  })
  const refused = acts.length - checked.length
  if (refused > 0)
    log.warn({ deployment_id, acts: refused }, "acts of no member, or that say not what they were, were reported")
  const added = await db.transaction(async (tx) => {
    let count = 0
    for (const each of checked) count += await insertEntry(tx, entryOf(deployment, each))
    return count
  })
  room.take(deployment_id, added)
  await confirmActs(
    unitAddress(context, unit),
    acts.map(({ act_id }) => act_id),
  )
  return acts.length
}

/** What an act was, and the thing. */
interface About {
  readonly action: string
  readonly type: string
  readonly id: string
  readonly name?: string | undefined
  /** At its agent server. */
  readonly path: string
}

/** @returns  undefined for an act that no agent server records */
function aboutOf({ kind, thread_id, run_id, checkpoint_id, thing }: ReportedAct): About | undefined {
  if (kind === "delete") {
    if (thing === null) return undefined
    const { type, id, name } = thing
    const what = type === "store_item" ? "store item" : type
    return { action: `deleted ${what}`, type, id, name: name ?? undefined, path: pathsOfDeleted[type](id, thread_id) }
  }
  if (thread_id === null) return undefined
  const thread = { type: "thread", id: thread_id }
  if (kind === "expire")
    return {
      ...thread,
      action: "set time to live of thread",
      name: thing?.name ?? undefined,
      path: `threads/${thread_id}`,
    }
  if (kind === "answer")
    return run_id === null
      ? undefined
      : { ...thread, action: "answered agent", path: `threads/${thread_id}/runs/${run_id}` }
  return checkpoint_id === null
    ? undefined
    : { ...thread, action: "changed state of thread", path: `threads/${thread_id}/state/${checkpoint_id}` }
}

type PathOf = (id: string, threadId: string | null) => string

const pathsOfDeleted: Readonly<Record<NonNullable<ReportedAct["thing"]>["type"], PathOf>> = {
  thread: (id) => `threads/${id}`,
  checkpoints: (id) => `threads/${id}/history`,
  run: (id, threadId) => `threads/${threadId}/runs/${id}`,
  assistant: (id) => `assistants/${id}`,
  cron: (id) => `runs/crons/${id}`,
  store_item: () => "store/items",
}

interface CheckedAct {
  readonly act: ReportedAct
  readonly person: ActingPerson
  readonly about: About
  readonly now: Date
}

function entryOf(
  { workspace_id: workspaceId, name, route_name: route, created_at: from }: ActingDeployment,
  { act, person, about, now }: CheckedAct,
) {
  return {
    id: act.act_id,
    at: new Date(Math.min(Math.max(act.acted_at.getTime(), from.getTime()), now.getTime())),
    workspaceId,
    actor: { personId: person.person_id, name: person.name, email: person.email },
    ip: undefined,
    action: about.action,
    path: `/d/${route}/${about.path}`,
    resourceType: about.type,
    resourceId: about.id,
    resourceName: about.name === undefined ? name : `${name}: ${about.name}`,
    changed: act.changed ?? undefined,
    requestId: undefined,
  }
}
