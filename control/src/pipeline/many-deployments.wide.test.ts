/** Fifty deployments on one machine and one Postgres, nearly all of them asleep. */

import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { bareRepository } from "../sources/testing/bare-repository.js"
import { deploymentOf, smallProject, testPlatform } from "./testing/platform.js"

const skip = unlessLong("takes minutes")
const many = 50
const budget = 40
const timeoutMs = 900_000

test("fifty deployments share a machine and a small Postgres; each wakes when it is called", { skip }, async (t) => {
  await using platform = await testPlatform()
  const repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  const control = await platform.start({
    SUPERSTEP_DATABASE_CONNECTIONS: String(budget),
    SUPERSTEP_IDLE_MINUTES: "0.02",
    SUPERSTEP_MAX_BUILDS: "2",
  })
  const names = Array.from({ length: many }, (_, number) => `agent-${number}`)
  const units = () =>
    platform.db.rows<{ unit_id: string; connections: number }>(sql`select unit_id, connections from units`)
  const running = async () => {
    const ids = new Set((await units()).map(({ unit_id }) => unit_id))
    return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && ids.has(unitOf(pid)))
  }
  const given = async () => (await units()).reduce((sum, { connections }) => sum + connections, 0)
  const ask = (name: string) =>
    fetch(`${platform.agentsUrl}/d/${name}/env`, { headers: { "x-api-key": platform.apiKey } })

  // No more at a time than there is room for: a new one is awake, so the next ones wait until it sleeps.
  for (let from = 0; from < many; from += 4) {
    for (const name of names.slice(from, from + 4)) {
      await platform.deploy(deploymentOf(repository.url, { name, config: { deployment_type: "dev_free" } }))
    }
    const ended = async () =>
      (
        await platform.db.rows(
          sql`select from revisions where status not in ('DEPLOYED', 'DEPLOY_FAILED') or stage is not null`,
        )
      ).length === 0
    await until(ended, { what: `deployments up to ${from + 4} have ended`, timeoutMs })
    assert.ok((await given()) <= budget)
    await until(async () => (await given()) === 0, { what: `deployments up to ${from + 4} sleep`, timeoutMs })
  }
  const failed = await platform.db.rows(sql`select error_code from revisions where status <> 'DEPLOYED'`)
  assert.deepEqual(failed, [])
  const isQuiet = async () => (await running()).length === 0 && (await given()) === 0
  await until(isQuiet, { what: "all sleep, and their connections are free", timeoutMs })
  assert.equal((await platform.db.rows(sql`select from sleeps`)).length, many)

  // Printed, not asserted: the benchmark checks the cost of fifty sleepers.
  const before = processorMs(control.pid)
  await sleep(10_000)
  t.diagnostic(`the control plane took ${processorMs(control.pid) - before} ms of a processor in 10 s`)
  const called = names.filter((_, number) => number % 13 === 0)
  const answers = await Promise.all(called.map(ask))

  assert.deepEqual(
    fieldsOf(answers, "status"),
    called.map(() => 200),
  )
  assert.ok((await given()) <= budget)
  await until(isQuiet, { what: "they sleep again", timeoutMs })
})

function processorMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  // Clock ticks in user and system mode, 100 per second.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** The id of the unit that a process runs, from its title. */
function unitOf(pid: string): string {
  try {
    return /superstep-unit-([0-9a-f-]{36})/.exec(readFileSync(`/proc/${pid}/cmdline`, "latin1"))?.[1] ?? ""
  } catch {
    // It has ended.
    return ""
  }
}
