/** What it takes to watch units (observer.ts, O1 to O3). */
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import type { UnitStatus } from "@superstep/machines/port/port"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { realClock } from "@superstep/toolkit/time/clock"
import { type ObservedUnit, type Observer, startObserver } from "./observer.js"
import { reportOf } from "./testing/facts.js"

const lineOf = (change: object = {}) => `${JSON.stringify(reportOf(change))}\n`

/** A unit whose process and whose answers the test decides. */
async function watchedUnit(t: TestContext) {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const streams: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (seen.isAway) return void request.socket.destroy()
    streams.push(response)
    response.write(lineOf())
  }).listen(socketPath)
  await once(server, "listening")
  const unit: ObservedUnit = {
    unitId: "u",
    deploymentId: "d",
    address: () => ({ address: unixAddress(socketPath), token: new Secret("t") }),
    isWanted: true,
    isAwaited: false,
  }
  const seen = {
    looks: 0,
    process: { state: "running" } as UnitStatus | Error,
    changes: [] as boolean[],
    isAway: false,
  }
  const status = async () => {
    seen.looks++
    if (seen.process instanceof Error) throw seen.process
    return seen.process
  }
  const observer: Observer = startObserver({
    units: { status },
    hangMs: 60_000,
    clock: realClock,
    log: silent,
    onChange: (_, { isUrgent }) => void seen.changes.push(isUrgent),
  })
  t.after(async () => {
    await observer.stop()
    server.closeAllConnections()
    server.close()
  })
  const answer = () => observer.seen("u")?.answer
  const follow = async () => {
    observer.follow([unit])
    await until(() => answer() === "ready", { what: "its first report" })
  }
  return { unit, observer, seen, streams, answer, follow }
}

test("a unit that runs is watched on one connection, and its process is looked at when that ends", async (t) => {
  const { observer, seen, streams, follow } = await watchedUnit(t)

  await follow()
  streams[0]?.write(lineOf({ running_runs: 1 }))
  await until(() => observer.seen("u")?.report?.running_runs === 1, { what: "its first run" })
  streams[0]?.write(lineOf({ running_runs: 2 }))
  await until(() => observer.seen("u")?.report?.running_runs === 2, { what: "its second run" })
  const before = [seen.looks, streams.length]
  seen.process = { state: "exited" }
  streams[0]?.destroy()
  await until(() => observer.seen("u")?.process === "exited", { what: "its end" })

  assert.deepEqual(before, [1, 1])
  assert.deepEqual(seen.changes, [true, true, false, true])
})

test("a unit that is stopped and should be is looked at once, and again when it is wanted or something was done to it (O3)", async (t) => {
  const { unit, observer, seen, answer } = await watchedUnit(t)
  seen.process = { state: "absent" }
  const asleep = { ...unit, isWanted: false }

  observer.follow([asleep])
  await until(() => observer.seen("u")?.process === "absent", { what: "the first look" })
  for (let pass = 0; pass < 100; pass++) observer.follow([asleep])
  const looks = seen.looks
  observer.lookAgain("u")
  await until(() => observer.seen("u")?.process === "absent", { what: "the look after an action" })
  const looksThen = seen.looks
  seen.process = { state: "running" }
  observer.follow([unit])
  await until(() => answer() === "ready", { what: "it is watched" })

  assert.deepEqual([looks, looksThen], [1, 2])
})

test("what was seen before an action is not shown after it (O1)", async (t) => {
  const { observer, streams, answer, follow } = await watchedUnit(t)
  await follow()

  observer.lookAgain("u")
  const atOnce = observer.seen("u")
  streams[0]?.write(lineOf({ running_runs: 7 }))
  await until(() => streams.length === 2 && answer() === "ready", { what: "its report after the action" })

  assert.equal(atOnce, undefined)
  assert.equal(observer.seen("u")?.report?.running_runs, 0)
})

test("a unit whose status is invalid counts as one that does not answer, until it is valid again", async (t) => {
  const { observer, streams, answer, follow } = await watchedUnit(t)
  await follow()

  streams.at(-1)?.write(lineOf({ worker_crashes: { count: 1.5, last: null } }))
  await until(() => answer() === "silent", { what: "its invalid report" })
  const shown = observer.seen("u")
  await until(() => answer() === "ready", { what: "it is asked again" })

  assert.deepEqual(shown, { process: "running", answer: "silent", report: undefined })
})

test("a unit that ends while the machine does not say so is not shown as it was before (O4)", async (t) => {
  const { observer, seen, streams, answer, follow } = await watchedUnit(t)
  await follow()

  seen.process = new Error("the API is away")
  streams.at(-1)?.end()
  await until(() => streams.length > 1, { what: "it is asked all the same" })
  const stillAnswers = answer()
  seen.isAway = true
  streams.at(-1)?.destroy()
  await until(() => answer() === "silent", { what: "it cannot be reached" })
  seen.process = { state: "exited" }
  await until(() => observer.seen("u")?.process === "exited", { what: "the machine says it" })

  assert.equal(stillAnswers, "ready")
})
