/**
 * Mixed load for a long time, in rounds: many clients at once, then nobody, then a look at what the server still holds.
 * What it holds may not grow with the number of runs it has seen.
 */
import { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import { clients } from "./clients.js"
import { type Sample, takeSample, workerPids } from "./sample.js"

export interface SoakOptions {
  readonly server: AgentServerProcess
  /** A connection of the test to the server's database. */
  readonly db: Database
  readonly seed: number
  /** How often one of the clients does something, in a round. */
  readonly visitsPerRound: number
  /** Told before each round; the soak ends when it says no. */
  readonly wantsMore: (rounds: number) => boolean
  readonly say: (line: string) => void
}

export interface Soak {
  readonly samples: readonly Sample[]
  /** Runs that were made until each sample. */
  readonly runs: readonly number[]
  /** What clients found wrong, with the name of what they did. */
  readonly failures: readonly string[]
  readonly kills: number
}

const clientsAtOnce = 8
// Once after so many visits: a run that is lost three times ends in an error by rule R5, which no client here expects.
const visitsPerKill = 40

export async function soak(options: SoakOptions): Promise<Soak> {
  const { server, db, seed, visitsPerRound, wantsMore, say } = options
  const soaked = { samples: [] as Sample[], runs: [] as number[], failures: [] as string[], kills: 0 }
  const random = seededRandom(seed)
  // As a user has it: what is refused with a 503 while a worker is being replaced is asked again.
  const patient = new Client({ apiUrl: server.url, defaultHeaders: server.headers })
  for (let round = 0; wantsMore(round); round++) {
    let visits = 0
    const visitInTurn = async () => {
      while (visits++ < visitsPerRound) {
        if (visits % visitsPerKill === 0) soaked.kills += await killNewestWorker(server)
        const client = random.pick(clients)
        const visit = { server, client: patient, db, random, threads: [] as string[] }
        await client(visit).catch((error: Error) => {
          soaked.failures.push(`round ${round}, ${client.name}: ${error.stack}\n${logOf(server, visit.threads)}`)
        })
      }
    }
    await Promise.all(Array.from({ length: clientsAtOnce }, visitInTurn))
    const sample = await takeSample(server, db)
    soaked.samples.push(sample)
    soaked.runs.push(runsSoFar(server))
    say(line(round, sample, runsSoFar(server), soaked.failures.length))
  }
  return soaked
}

const runsSoFar = (server: AgentServerProcess): number => server.log().split('"run started"').length - 1

/** What the server logged about threads and the runs on them. */
function logOf(server: AgentServerProcess, threads: readonly string[]): string {
  const lines = server.log().split("\n")
  const started = lines.filter((text) => threads.some((id) => text.includes(id)))
  const runs = new Set(started.flatMap((text) => /"run_id":"([^"]+)"/.exec(text)?.[1] ?? []))
  return lines.filter((text) => [...runs].some((id) => text.includes(id))).join("\n")
}

/** The oldest worker stays, so that its memory can be followed. */
async function killNewestWorker(server: AgentServerProcess): Promise<number> {
  const [oldest, ...others] = workerPids(server)
  const victim = others.at(-1)
  if (oldest === undefined || victim === undefined) return 0
  process.kill(victim, "SIGKILL")
  await until(() => !workerPids(server).includes(victim), { what: "the killed worker is gone" })
  return 1
}

function line(round: number, sample: Sample, runs: number, failures: number): string {
  const mb = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
  const workers = [...sample.workers].map(([pid, { heapBytes }]) => `${pid} ${mb(heapBytes)}`).join(", ")
  return [
    `round ${round}: ${runs} runs, ${failures} failures`,
    `server heap ${mb(sample.heapBytes)} MB, external ${mb(sample.externalBytes)} MB, RSS ${mb(sample.residentBytes)} MB`,
    `worker heaps ${workers} MB`,
    `${sample.files} files, ${sample.databaseConnections} connections, ${sample.processes} processes`,
    JSON.stringify(sample.resources),
  ].join("; ")
}
