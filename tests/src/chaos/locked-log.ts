/**
 * Runs say events of random sizes as fast as they can, while a transaction holds the log: what waits in their server takes a bounded part of its memory,
 * whatever the sizes. It takes that within a while, and then no more.
 */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Installation } from "./installation.js"
import { holdLock, lockEvents } from "./moments.js"

const runs = 6
// A worker says some thousand events a second: within a third of the time as many as a server lets wait (K7).
const [settledMs, heldMs] = [40_000, 120_000]
// At first a server takes more, which V8 collects late: 121 MB were seen with events of 10,000 bytes, and then 13 MB.
const [mostMegabytes, mostGrowth] = [256, 40]
const [eventsOfRun, bytesOfRun] = [250_000, 48_000_000]

/** @returns  what was broken, a sentence each */
export async function spillBehindLock(
  { servers: [server], db }: Pick<Installation, "servers" | "db">,
  random: Random,
): Promise<string[]> {
  const ask = (path: string, body: object) => {
    const headers = { "content-type": "application/json" }
    return fetch(`${server?.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  }
  const sizes = Array.from({ length: runs }, () => random.pick([1, 1, 10, 100, 10_000]))
  const before = residentOf(server?.pid)
  let [settled, most] = [before, before]
  const lock = await holdLock(db, lockEvents)
  await using _lock = lock
  const spilling = sizes.map(async (largest) => {
    const task = { seed: random.between(1, 2 ** 31), events: eventsOfRun, bytes: bytesOfRun, largest }
    const body = { assistant_id: "spill", input: { task }, stream_mode: ["custom"], stream_resumable: true }
    const { thread_id } = (await (await ask("/threads", {})).json()) as { thread_id: string }
    const { run_id } = (await (await ask(`/threads/${thread_id}/runs`, body)).json()) as { run_id: string }
    return { thread_id, run_id }
  })
  const begun = await Promise.all(spilling)
  const begin = performance.now()
  const isMuch = () => most - before > mostMegabytes || most - settled > mostGrowth
  for (let ms = 0; ms < heldMs && !isMuch(); ms = performance.now() - begin) {
    most = Math.max(most, residentOf(server?.pid))
    if (ms < settledMs) settled = most
    await sleep(200)
  }
  await lock.release()
  for (const { thread_id, run_id } of begun) await ask(`/threads/${thread_id}/runs/${run_id}/cancel?wait=true`, {})
  const ids = begun.map(({ run_id }) => run_id)
  const again = await db.rows<{ attempt: number }>(sql`
    select attempt from runs where run_id = any (${ids}::uuid[]) and attempt > 1`)
  const said = `${runs} runs that say events of up to ${sizes.join(", ")} bytes`
  return [
    ...again.map(({ attempt }) => `attempt: one of ${said} has attempt ${attempt}`),
    ...(isMuch()
      ? [`memory: ${said} took a server from ${before} MB over ${settled} MB to ${most} MB while the log was locked`]
      : []),
  ]
}

/** The memory of a process, in megabytes. */
function residentOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024)
}
