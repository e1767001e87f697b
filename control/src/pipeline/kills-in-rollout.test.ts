/**
 * The edge and units are killed at named points of a rollout, together with the control plane: every revision ends,
 * traffic returns without help, and nothing is left behind.
 */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { type KilledPlatform, killedPlatform } from "./testing/killed-platform.js"
import { untilNothingIsLeft } from "./testing/leftovers.js"

let platform: KilledPlatform
let served: string
before(async () => {
  platform = await killedPlatform()
  served = platform.firstRevisionId
})
after(() => platform[Symbol.asyncDispose]())

type Victim = "edge" | "old unit" | "new unit"
const slice: readonly (readonly [Victim, string])[] = [
  ["edge", "switch:before-push"],
  ["new unit", "switch:begin"],
  ["old unit", "deploy:after-start"],
]
const points = [
  "deploy:after-start",
  "switch:begin",
  "switch:after-activate",
  "switch:before-push",
  "switch:after-push",
]
const later = ["switch:after-commit", "verify:begin", "verify:before-advance", "watch:after-end"]
const all = (["edge", "old unit", "new unit"] as const).flatMap((victim) =>
  [...points, ...later].map((point) => [victim, point] as const),
)

for (const [victim, point] of runsWideTests ? all : slice) {
  test(`${victim} and control plane are killed at ${point}: the revision ends and answers, and nothing is left`, async () => {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    const revisionId = await platform.change()
    await platform.untilDead()
    killIn(
      victim === "edge"
        ? join(platform.home, "edge")
        : await platform.unitFolder(victim === "old unit" ? served : revisionId),
    )

    await platform.start()
    const revision = await platform.untilEnded(platform.deploymentId, revisionId)

    assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
    await until(async () => (await platform.revisionBehind()) === revisionId, { what: "the new revision answers" })
    served = revisionId
    await untilNothingIsLeft(platform)
    await platform.kill()
  })
}

/** Kills the process whose pid file is in this folder. */
function killIn(folder: string): void {
  const { pid } = JSON.parse(readFileSync(join(folder, "pid.json"), "utf8")) as { pid: number }
  process.kill(pid, "SIGKILL")
}
