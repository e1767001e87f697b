/**
 * Brings crons from one agent server to another. Here they do not fire before that is asked for, since the other server fires them too. A cron
 * gets another id here: its metadata has the one that it had there.
 */
import { type AgentApi, unlessMissing } from "./agent-api.js"
import { every, pageSize } from "./every.js"
import { sameJson } from "./same-json.js"
import type { Outcome } from "./threads.js"

type Json = Readonly<Record<string, unknown>>

export interface Cron {
  readonly cron_id: string
  readonly assistant_id: string
  readonly thread_id?: string | null
  readonly schedule: string
  readonly timezone?: string | null
  readonly end_time?: string | null
  readonly on_run_completed?: string | null
  readonly payload?: Json
  readonly metadata?: Json
  /** Servers that lack it fire every cron. */
  readonly enabled?: boolean
}

const formerId = "imported_cron_id"

/** None for a server without crons, such as `langgraph dev`. */
export async function* cronsOf(from: AgentApi): AsyncGenerator<Cron> {
  const info: { flags?: { crons?: boolean } } | undefined = await unlessMissing(from.send("GET", "/info"))
  if (info?.flags?.crons === false) return
  const search = { limit: pageSize, sort_by: "created_at", sort_order: "asc" }
  const read = async (offset: number): Promise<Cron[]> =>
    (await unlessMissing(from.send("POST", "/runs/crons/search", { ...search, offset }))) ?? []
  yield* every(read, (cron) => cron.cron_id)
}

export const shownCron = ({ schedule, cron_id }: Cron): string => `${schedule} (${cron_id})`

/** What a cron passes to its runs; other servers keep more in a cron's payload. */
const payloadFields = [
  "input",
  "config",
  "context",
  "webhook",
  "interrupt_before",
  "interrupt_after",
  "multitask_strategy",
  "stream_mode",
  "stream_subgraphs",
  "stream_resumable",
  "durability",
]

/** When it fires, and what it starts: the fields of a request that creates or changes it. Null: it has none, also where it had one before. */
function planOf({ schedule, timezone, end_time, on_run_completed, thread_id, payload = {} }: Cron): Json {
  const plan = {
    schedule,
    timezone,
    end_time: end_time && new Date(end_time).toISOString(),
    // What a server assumes for threads that a cron makes.
    on_run_completed: thread_id ? null : (on_run_completed ?? "delete"),
  }
  const given = [...Object.entries(plan), ...payloadFields.map((field) => [field, payload[field]] as const)]
  return Object.fromEntries(given.map(([field, value]) => [field, value ?? null]))
}

export interface Target {
  readonly to: AgentApi
  readonly replaces: boolean
  /** Lets those fire that fire there. */
  readonly enables: boolean
}

/** @throws AgentRefused | AgentAway */
export async function importCron({ to, replaces, enables }: Target, cron: Cron): Promise<Outcome> {
  const { cron_id, assistant_id, thread_id, metadata, enabled = true } = cron
  const search = { metadata: { [formerId]: cron_id }, limit: 1 }
  const [here]: Cron[] = await to.send("POST", "/runs/crons/search", search)
  const plan = planOf(cron)
  const imported: Outcome = { kind: "imported", checkpoints: 0, notes: [] }
  if (here === undefined) {
    const path = thread_id ? `/threads/${thread_id}/runs/crons` : "/runs/crons"
    const body = { assistant_id, ...plan, metadata: { ...metadata, [formerId]: cron_id }, enabled: enabled && enables }
    await to.sendOnce("POST", path, body)
    return imported
  }
  const isSame = sameJson(planOf(here), plan)
  if (!isSame && !replaces)
    return {
      kind: "differs",
      why: "the new server has it with another plan: it is left as it is; --replace takes the old server's",
    }
  const starts = enables && enabled && here.enabled === false
  if (isSame && !starts) return { kind: "there" }
  await to.send("PATCH", `/runs/crons/${here.cron_id}`, { ...(!isSame && plan), ...(starts && { enabled: true }) })
  return imported
}
