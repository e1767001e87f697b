/**
 * The edge and units are killed at named points of a rollout, together with the control plane: every revision ends,
 * traffic returns without help, and nothing is left behind.
 */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { before, test } from "node:test"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { shared } from "../testing/api.js"
import { killedPlatform } from "./testing/killed-platform.js"

const platform = shared(() => killedPlatform())
let served: string
before(() => {
  served = platform.firstRevisionId
})

const victims = ["edge", "old unit", "new unit"] as const
type Victim = (typeof victims)[number]
type Kill = readonly [Victim, string]

// A revision with kills at a point of each column; two deaths in one stage are allowed.
const points = [
  ["deploy:after-start", "switch:before-push", "verify:begin"],
  ["switch:begin", "switch:after-push", "verify:before-advance"],
  ["switch:after-activate", "switch:after-commit", "watch:after-end"],
] as const
/** Every victim at every point. */
const all = points.flatMap((row) =>
  victims.map((_, turn) =>
    row.map((point, column): Kill => [victims[(column + turn) % victims.length] ?? "edge", point]),
  ),
)
const slice: readonly (readonly Kill[])[] = [
  [
    ["old unit", "deploy:after-start"],
    ["edge", "switch:before-push"],
  ],
  [["new unit", "switch:begin"]],
]

for (const kills of runsLongTests ? all : slice) {
  const title = kills.map(([victim, point]) => `${victim} at ${point}`).join(", ")
  test(`killed with the control plane: ${title}: the revision ends and answers, and nothing is left`, async () => {
    const [, first] = kills[0] ?? assert.fail("no kill")
    await platform.start({ SUPERSTEP_CRASH_AT: first })
    const revisionId = await platform.change()
    for (const [index, [victim]] of kills.entries()) {
      await platform.untilDead()
      killIn(
        victim === "edge"
          ? join(platform.home, "edge")
          : await platform.unitFolder(victim === "old unit" ? served : revisionId),
      )
      await platform.start({ SUPERSTEP_CRASH_AT: kills[index + 1]?.[1] ?? "" })
    }

    await platform.untilServed(revisionId)
    served = revisionId
  })
}

/** Kills the process whose pid file is in this folder. */
function killIn(folder: string): void {
  const { pid } = JSON.parse(readFileSync(join(folder, "pid.json"), "utf8")) as { pid: number }
  process.kill(pid, "SIGKILL")
}
