/**
 * Postgres goes away under load and comes back. Nothing that was acknowledged is lost, requests meanwhile are refused
 * with a 503 that says when to come back, runs in flight end exactly, and their streams go on.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, startAgentServer } from "../testing/agent-servers.js"
import { EventReader, type ReadEvent } from "../testing/event-reader.js"
import { descendants } from "../testing/process-memory.js"

export interface OutageOptions {
  readonly seconds: number
  readonly say: (line: string) => void
}

interface Asked {
  readonly threadId: string
  readonly runId: string
  /** What its thread's state holds in the end: each step once, each note found. */
  readonly left: readonly (number | string)[]
}

interface RunFact {
  readonly run_id: string
  readonly status: string
  readonly attempt: number
  readonly losses: number
  readonly error: string | null
}

const log = createLog({ process: "test", level: "silent" })
const stepsTo = (count: number): number[] => Array.from({ length: count }, (_, step) => step)

/** @returns one sentence for each promise that was broken */
export async function outage({ seconds, say }: OutageOptions): Promise<string[]> {
  const folder = await preparedCluster()
  let postgres = await startPostgres({ folder, log, stopWithParent: true })
  try {
    const databaseUri = await createDatabase({ adminUri: postgres.superuserUri, name: "outage" })
    await using server = await startAgentServer({ databaseUri })
    const followed = await startFollowedRuns(server, seconds)
    const requests = keepAsking(server)
    await until(() => followed.every(({ events }) => events.length > 0), { what: "every stream has begun" })
    await until(() => requests.asked.length > 5, { what: "some requests were answered" })

    await killPostgres(postgres.pid)
    await sleep(seconds * 1000)
    const during = requests.refusals.length
    postgres = await startPostgres({ folder, log, stopWithParent: true })

    const answered = requests.asked.length
    await until(() => requests.asked.length > answered + 5, { what: "requests are answered again", timeoutMs: 60_000 })
    await requests.stop()
    await Promise.all(followed.map(({ over }) => over))
    const asked = [...requests.asked, ...followed]
    const facts = await untilOver(databaseUri, asked)
    say(`${seconds} s: ${asked.length} runs acknowledged, ${during} requests refused meanwhile`)
    say(`attempts of those in flight: ${followed.map(({ runId }) => facts.get(runId)?.attempt).join(", ")}`)
    return [
      ...requests.problems,
      ...(during === 0 ? ["no request was refused while Postgres was away"] : []),
      ...(await problemsOfRuns(server, asked, facts)),
      ...followed.flatMap(problemsOfStream),
    ]
  } finally {
    await postgres.stop()
  }
}

/** As a machine does that loses its database: the postmaster and all its sessions at once. */
async function killPostgres(pid: number): Promise<void> {
  const all = [pid, ...descendants(pid).map((child) => child.pid)]
  for (const each of all) process.kill(each, "SIGKILL")
}

interface Followed extends Asked {
  readonly isResumable: boolean
  readonly events: ReadEvent[]
  readonly over: Promise<"ended" | "cut">
}

const everyMs = 100

/** Runs that are in flight when Postgres goes away, each with a client. Some end before it is back. */
async function startFollowedRuns(server: AgentServerProcess, seconds: number): Promise<Followed[]> {
  const [throughout, meanwhile] = [seconds + 4, seconds / 2 + 2].map((each) => Math.ceil((each * 1000) / everyMs))
  const start = async (graph: object, left: Asked["left"], isResumable: boolean): Promise<Followed> => {
    const { thread_id: threadId } = await server.client.threads.create()
    const rest = { stream_mode: "custom", stream_resumable: isResumable, config: { recursion_limit: 10_000 } }
    const path = `/threads/${threadId}/runs/stream`
    const { location, events, over } = await EventReader.open(server, { path, body: { ...graph, ...rest } })
    return { threadId, runId: location.split("/").at(-1) ?? "", left, isResumable, events, over }
  }
  const steps = (count = 0, durability: string, isResumable: boolean) =>
    start({ assistant_id: "steps", input: { steps: count, everyMs }, durability }, stepsTo(count), isResumable)
  const texts = stepsTo(throughout ?? 0).map((note) => `note ${note}`)
  return Promise.all([
    steps(throughout, "async", true),
    steps(throughout, "async", false),
    steps(throughout, "sync", true),
    steps(throughout, "exit", false),
    steps(meanwhile, "async", true),
    steps(meanwhile, "async", false),
    steps(meanwhile, "sync", false),
    start({ assistant_id: "notes", input: { owner: "outage", texts, everyMs } }, texts, false),
  ])
}

/** Asks for small runs all the time, and notes which were acknowledged and how the others were refused. */
function keepAsking(server: AgentServerProcess) {
  const asked: Asked[] = []
  const refusals: number[] = []
  const problems: string[] = []
  const stopping = new AbortController()
  const post = async (path: string, body: object) => {
    const headers = { ...server.headers, "content-type": "application/json" }
    const reply = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) })
    const text = await reply.text()
    if (reply.ok) return JSON.parse(text)
    refusals.push(reply.status)
    const isPromised = reply.status === 503 && Number(reply.headers.get("retry-after")) > 0
    if (!isPromised) problems.push(`POST ${path} was refused with ${reply.status}, ${text}`)
    return undefined
  }
  const askOnce = async () => {
    const thread = await post("/threads", {})
    const body = { assistant_id: "steps", input: { steps: 3, everyMs: 10 } }
    const run = thread && (await post(`/threads/${thread.thread_id}/runs`, body))
    if (run) asked.push({ threadId: run.thread_id, runId: run.run_id, left: stepsTo(3) })
  }
  const loop = async () => {
    while (!stopping.signal.aborted) {
      await askOnce().catch((error: Error) => problems.push(`a request failed without a reply: ${error.message}`))
      await sleep(50)
    }
  }
  const loops = [loop(), loop()]
  const stop = async () => {
    stopping.abort()
    await Promise.all(loops)
  }
  return { asked, refusals, problems, stop }
}

async function untilOver(databaseUri: string, asked: readonly Asked[]): Promise<Map<string, RunFact>> {
  await using db = openDatabase({ uri: databaseUri, poolSize: 1, log })
  const ids = asked.map(({ runId }) => runId)
  const find = () =>
    db.rows<RunFact>(
      sql`select run_id, status, attempt, losses, error::text from runs where run_id = any (${ids}::uuid[])`,
    )
  const areOver = async () => {
    const facts = await find()
    return facts.every(({ status }) => status !== "pending" && status !== "running") && facts
  }
  // A lease may have to end, 30 s, before a run is attempted again.
  const facts = await until(areOver, { what: "all runs are over", timeoutMs: 120_000 })
  return new Map(facts.map((fact) => [fact.run_id, fact]))
}

async function problemsOfRuns(
  server: AgentServerProcess,
  asked: readonly Asked[],
  facts: ReadonlyMap<string, RunFact>,
): Promise<string[]> {
  const problems: string[] = []
  for (const { threadId, runId, left } of asked) {
    const fact = facts.get(runId)
    if (fact?.status !== "success") {
      problems.push(`run ${runId} was acknowledged and is ${fact?.status ?? "gone"}: ${fact?.error}`)
      continue
    }
    const { values } = await server.client.threads.getState<{ log?: number[]; found?: string[] }>(threadId)
    const found = values.found ?? values.log
    if (String(found) !== String(left)) problems.push(`run ${runId} left ${found}`)
  }
  return problems
}

/** The server lived all the time, so nobody's stream had to break: it must have everything, to the end. */
function problemsOfStream({ runId, isResumable, events, left }: Followed): string[] {
  const kind = isResumable ? "resumable" : "ordinary"
  const ids = events.map(({ id }) => id)
  const said = events.filter(({ event }) => event === "custom").map(({ data }) => JSON.parse(data).step as number)
  const missing = left.filter((step) => typeof step === "number" && !said.includes(step))
  const end = events.at(-1)
  return [
    ...(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)) ? [] : [`ids of ${runId} do not rise`]),
    ...(missing.length === 0 ? [] : [`the ${kind} stream of ${runId} lacks the steps ${missing}`]),
    ...(end?.event === "end" ? [] : [`the ${kind} stream of ${runId} broke off after ${end?.event}`]),
  ]
}
