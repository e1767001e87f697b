/** Kills around a rollout: Postgres during a switch, edges during a hand-over, and the start of a second control plane. */

import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { before, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { shared } from "../testing/api.js"
import { killedPlatform } from "./testing/killed-platform.js"
import { untilNothingIsLeft } from "./testing/leftovers.js"
import { canFindProcesses, processesOf } from "./testing/processes-of.js"

const platform = shared(() => killedPlatform())
let served: string
before(() => {
  served = platform.firstRevisionId
})

// SIGKILL, so that only acknowledged writes survive.
const killPostgres = async () => process.kill((await platform.startPostgres()).pid, "SIGKILL")

for (const [index, point] of ["switch:before-push", "switch:after-activate", "switch:after-push"].entries()) {
  test(`Postgres and control plane are killed at ${point}: the revision ends as if nothing had happened`, {
    skip: index > 0 && unlessLong("each starts a Postgres and a control plane anew"),
  }, async () => {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    const revisionId = await platform.change()
    await platform.untilDead()
    await killPostgres()

    assert.ok([served, revisionId].includes((await platform.revisionBehind()) ?? ""), "the edge needs no Postgres")
    await platform.startPostgres()
    await platform.start()

    await platform.untilServed(revisionId)
    served = revisionId
  })
}

test("Postgres is killed in a switch and comes back: the control plane, which lives, goes on", {
  skip: unlessLong("a claim whose end could not be stored lasts half a minute"),
}, async () => {
  await platform.start()
  const revisionId = await platform.change()
  const path = `/v2/deployments/${platform.deploymentId}/revisions/${revisionId}`
  await until(async () => (await platform.call("GET", path)).body.status === "DEPLOYING", { what: "it is deployed" })
  await killPostgres()

  assert.equal(await platform.revisionBehind(), served)
  await platform.startPostgres()

  await platform.untilServed(revisionId)
  served = revisionId
})

const pidOfEdge = (): number =>
  (JSON.parse(readFileSync(join(platform.home, "edge", "pid.json"), "utf8")) as { pid: number }).pid
/** The edge that the former edge has started. */
const nextEdge = (former: number): number | undefined =>
  processesOf(platform.home).find(
    ({ pid, listens }) => pid !== former && listens.includes(`tcp ${new URL(platform.agentsUrl).port}`),
  )?.pid

const handOvers = ["edge:after-successor", "edge:after-rename", "edge:after-retired"].flatMap((point) =>
  (["next edge", "former edge", "nobody else"] as const).map((victim) => [point, victim] as const),
)
for (const [index, [point, victim]] of handOvers.entries()) {
  const skip = canFindProcesses
    ? index > 0 && unlessLong("it is beside the first")
    : "processes are found by /proc, which this system does not have"
  test(`killed in the hand-over of an edge at ${point}, and ${victim} with it: one edge answers in the end`, {
    skip,
  }, async () => {
    const former = pidOfEdge()
    // A changed setting of the edge, so that the next start replaces it.
    const settings = { SUPERSTEP_TRUSTED_PROXIES: `10.0.0.${index + 1}` }
    // It dies before it reports that it listens.
    await platform.start({ ...settings, SUPERSTEP_CRASH_AT: point })
    await platform.untilDead()
    const next = nextEdge(former)
    const pid = { "next edge": next, "former edge": former, "nobody else": undefined }[victim]
    if (pid !== undefined) process.kill(pid, "SIGKILL")

    await platform.start(settings)

    await until(async () => (await platform.revisionBehind()) === served, { what: "the agent answers" })
    await until(() => !existsSync(`/proc/${former}`), { what: "the former edge has ended" })
    await untilNothingIsLeft(platform)
    await platform.kill()
  })
}

test("of two control planes that are started on one home at once, one says who has it, and the other works", async () => {
  const starts = await Promise.allSettled([platform.start(), platform.start()])

  const refused = starts.filter((it) => it.status === "rejected")
  assert.equal(refused.length, 1)
  assert.match(
    String(refused[0]?.reason),
    /process \d+ already uses .*: stop it, or choose another data folder with --home/,
  )
  await platform.untilServed(await platform.change())
})
