/** What it takes to watch units (observer.ts, O1 to O3). */
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import type { UnitStatus } from "../machines/port.js"
import { type ObservedUnit, type Observer, startObserver } from "./observer.js"
import { reportOf } from "./testing/facts.js"

const lineOf = (change: object = {}) => `${JSON.stringify(reportOf(change))}\n`

/** A unit whose process and whose answers the test decides. */
async function watchedUnit(t: TestContext) {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const streams: ServerResponse[] = []
  const server = createServer((_, response) => {
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
  const seen = { looks: 0, process: { state: "running" } as UnitStatus, changes: [] as boolean[] }
  const status = async () => {
    seen.looks++
    return seen.process
  }
  const observer: Observer = startObserver({
    units: { status },
    hangMs: 60_000,
    log: silent,
    onChange: (_, { isUrgent }) => void seen.changes.push(isUrgent),
  })
  t.after(async () => {
    await observer.stop()
    server.closeAllConnections()
    server.close()
  })
  return { unit, observer, seen, streams, answer: () => observer.seen("u")?.answer }
}

test("a unit that runs is watched on one connection, and its process is looked at when that ends", async (t) => {
  const { unit, observer, seen, streams, answer } = await watchedUnit(t)

  observer.follow([unit])
  await until(() => answer() === "ready", { what: "its first report" })
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
  const { unit, observer, streams, answer } = await watchedUnit(t)
  observer.follow([unit])
  await until(() => answer() === "ready", { what: "its first report" })

  observer.lookAgain("u")
  const atOnce = observer.seen("u")
  streams[0]?.write(lineOf({ running_runs: 7 }))
  await until(() => streams.length === 2 && answer() === "ready", { what: "its report after the action" })

  assert.equal(atOnce, undefined)
  assert.equal(observer.seen("u")?.report?.running_runs, 0)
})
