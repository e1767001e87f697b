/**
 * Takes what people answered and changed at agents into the audit log. An agent server keeps each act until it is confirmed, and its status
 * says that some wait.
 *
 * PA1 Each act becomes one entry, however often it is reported: the entry has its id. It is confirmed after the commit.
 * PA2 A deployment's own code could report acts that nobody did. So an act counts only for a person with an account, by the name that the
 *     account has, and says at which deployment it was.
 */
import { askActs, confirmActs } from "@superstep/machines/unit-client/unit-client"
import type { ReportedAct, UnitReport } from "@superstep/machines/unit-client/unit-replies"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import { insertEntry } from "../audit/queries.js"
import { peopleByIds } from "../people/queries.js"
import type { PipelineContext } from "../planner/context.js"
import type { UnitRow } from "../planner/facts.js"
import { allUnits } from "../planner/queries.js"
import { unitAddress } from "../planner/unit.js"
import { type ActingDeployment, deploymentOfUnit } from "./queries.js"

const everyMs = 5000

interface CollectorOptions {
  /** What a unit reported last; undefined while it does not answer. */
  readonly reportOf: (unitId: string) => UnitReport | undefined
}

export function startCollector(context: PipelineContext, { reportOf }: CollectorOptions): Repeated {
  const work = async () => {
    await context.failures.attempt("the collection of what people did at agents", {}, async () => {
      const units = (await allUnits(context.db)).filter(({ unit_id }) => reportOf(unit_id)?.has_acts === true)
      // The units of a deployment share its database: one of them has all.
      const one = new Map(units.map((unit) => [unit.deployment_id, unit]))
      for (const unit of one.values()) await collect(context, unit)
    })
  }
  const collector = repeated(work, everyMs)
  collector.wake()
  return collector
}

/** @returns  how many acts were taken */
export async function collect(context: PipelineContext, unit: UnitRow): Promise<number> {
  const { db, log } = context
  const deployment = await deploymentOfUnit(db, unit.unit_id)
  if (!deployment) return 0
  const acts = await askActs(unitAddress(context, unit))
  if (acts.length === 0) return 0
  const people = new Map(
    (
      await peopleByIds(
        db,
        acts.map(({ person }) => person.person_id),
      )
    ).map((it) => [it.person_id, it]),
  )
  await db.transaction(async (tx) => {
    for (const act of acts) {
      const person = people.get(act.person.person_id)
      if (person) await insertEntry(tx, entryOf(deployment, act, person))
      else log.warn({ deployment_id: deployment.deployment_id, act_id: act.act_id }, "an act of nobody was reported")
    }
  })
  await confirmActs(
    unitAddress(context, unit),
    acts.map(({ act_id }) => act_id),
  )
  return acts.length
}

function entryOf(
  { workspace_id: workspaceId, name, route_name: route }: ActingDeployment,
  act: ReportedAct,
  person: { readonly person_id: string; readonly name: string; readonly email: string },
) {
  const { kind, thread_id: threadId, changed } = act
  const end = kind === "answer" ? `runs/${act.run_id}` : `state/${act.checkpoint_id}`
  return {
    id: act.act_id,
    at: act.acted_at,
    workspaceId,
    actor: { personId: person.person_id, name: person.name, email: person.email },
    ip: undefined,
    action: kind === "answer" ? "answered agent" : "changed state of thread",
    path: `/d/${route}/threads/${threadId}/${end}`,
    resourceType: "thread",
    resourceId: threadId,
    resourceName: name,
    changed: changed ?? undefined,
    requestId: undefined,
  }
}
