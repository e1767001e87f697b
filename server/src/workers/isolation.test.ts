/** How a run can harm its process, and how that affects the other runs in it. */
import assert from "node:assert/strict"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { exitReason } from "./exit-reason.js"
import { overLimit, residentMb } from "./memory-watch.js"
import {
  endOf,
  environmentOf,
  isAlive,
  lossOf,
  project,
  type RecordedCalls,
  resultOf,
  seen,
  startSecondWorker,
  startTestPool,
} from "./testing/test-pool.js"
import { workerCommand } from "./worker-command.js"

const alone = { runsAlone: true }

const statusOf = async (run: RecordedCalls) => (await resultOf(run)).status

test("P12: a run that executes alone has its own process, which ends with the run", async () => {
  await using testing = await startTestPool()
  assert.deepEqual([testing.pool.freeSlots(), testing.pool.freeSoloSlots()], [4, 2])

  const run = testing.run([{ do: "environment" }, { do: "wait" }], alone)
  const { PID, SUPERSTEP_WORKER_ID } = await environmentOf(run)

  assert.equal(SUPERSTEP_WORKER_ID, "solo.1")
  assert.deepEqual([testing.pool.freeSlots(), testing.pool.freeSoloSlots()], [4, 1])
  testing.pool.cancel(run.order.claimId)
  assert.equal(await statusOf(run), "cancelled")
  await until(() => testing.pool.freeSoloSlots() === 2, { what: "the slot is free again" })
  assert.equal(isAlive(Number(PID)), false)
})

test("P12: runs that execute alone wait for a free slot", async () => {
  await using testing = await startTestPool()
  const [first, second] = [testing.run([{ do: "wait" }], alone), testing.run([{ do: "wait" }], alone)]
  await Promise.all([seen(first, "waiting"), seen(second, "waiting")])
  assert.equal(testing.pool.freeSoloSlots(), 0)

  const third = testing.run([{ do: "done" }], alone)
  testing.pool.cancel(first.order.claimId)

  assert.equal(await statusOf(third), "success")
  assert.deepEqual(second.ends, [])
})

test("P12: when a run has executed alone for a while, the next one may start, up to a limit", async () => {
  await using testing = await startTestPool({ limits: { provenMs: 1 } })
  const runs = []

  while (runs.length < 3) {
    const run = testing.run([{ do: "wait" }], alone)
    await seen(run, "waiting")
    await until(() => testing.pool.freeSoloSlots() === 2, { what: "the slots are free again" })
    runs.push(run)
  }

  for (const run of runs) testing.pool.cancel(run.order.claimId)
  assert.deepEqual(await Promise.all(runs.map(statusOf)), ["cancelled", "cancelled", "cancelled"])
})

test("P12: a process that ends while it loads the run's graph counts against the run", async () => {
  await using testing = await startTestPool({ project: project({ chat: "./exit:alone" }) })

  const lost = await lossOf(testing.run([], alone))

  assert.deepEqual(lost, { lost: "worker_died", detail: "exit code 3, while it loaded chat" })
})

test("P12: a run whose process is still loading can be cancelled, and is handed back by a stop", async () => {
  const testing = await startTestPool({ project: project({ chat: "./never:alone" }) })
  const [cancelled, handedBack] = [testing.run([], alone), testing.run([], alone)]

  testing.pool.cancel(cancelled.order.claimId)
  assert.equal(await statusOf(cancelled), "cancelled")
  await testing.pool.stop(60_000)

  assert.deepEqual(handedBack.ends, [{ lost: "stopped", detail: "the server stops" }])
})

test("R9: a worker's death counts as a run's loss only if the worker executed nothing else", async () => {
  await using testing = await startTestPool()
  const free = () => until(() => testing.pool.freeSlots() === 4, { what: "the worker is back" })

  const single = await lossOf(testing.run([{ do: "kill" }]))
  await free()
  const neighbour = testing.run([{ do: "wait" }])
  await seen(neighbour, "waiting")
  const besideNeighbour = await lossOf(testing.run([{ do: "kill" }]))
  await free()
  const call = testing.pool.call("graph.state", { graph_id: "chat", thread_id: "late" }, {})
  const failed = assert.rejects(call)
  const besideQuestion = await lossOf(testing.run([{ do: "kill" }]))
  await failed
  await free()
  const givenUp = testing.run([{ do: "wait" }])
  await seen(givenUp, "waiting")
  testing.pool.giveUp(givenUp.order.claimId)
  const besideGhost = await lossOf(testing.run([{ do: "kill" }]))

  assert.equal(single.lost, "worker_died")
  assert.equal((await lossOf(neighbour)).lost, "shared_worker_died")
  for (const { lost } of [besideNeighbour, besideQuestion, besideGhost]) assert.equal(lost, "shared_worker_died")
  assert.deepEqual(givenUp.ends, [])
})

test("P5: a worker whose event loop is blocked gets no new runs until it responds again", async () => {
  await using testing = await startTestPool({ workers: 2, limits: { pingEveryMs: 20, stalledMs: 60_000 } })
  let offers = 0
  testing.pool.onFree(() => {
    offers += 1
  })
  await startSecondWorker(testing)
  const untilFile = join(temporaryFolder(), "end")
  const busy = testing.run([{ do: "environment" }, { do: "pause" }, { do: "spin", untilFile }, { do: "wait" }])
  const { SUPERSTEP_WORKER_ID: held } = await environmentOf(busy)
  await until(() => testing.pool.freeSlots() === 4, { what: "the blocked worker's slots do not count" })

  const runs = [1, 2, 3].map(() => testing.run([{ do: "environment" }, { do: "wait" }]))
  const placed = await Promise.all(runs.map(environmentOf))
  const offersBefore = offers
  writeFileSync(untilFile, "")
  await seen(busy, "waiting")
  await until(() => testing.pool.freeSlots() === 4, { what: "its slots count again" })

  for (const { SUPERSTEP_WORKER_ID } of placed) assert.notEqual(SUPERSTEP_WORKER_ID, held)
  assert.ok(offers > offersBefore)
})

test("P13: abandoning a run does not end its worker, unless the worker does not answer pings either", async () => {
  await using testing = await startTestPool({ limits: { pingEveryMs: 20, stalledMs: 60_000 } })
  const stubborn = testing.run([{ do: "environment" }, { do: "wait" }])
  const { PID } = await environmentOf(stubborn)
  await seen(stubborn, "waiting")

  testing.pool.giveUp(stubborn.order.claimId)
  assert.equal(testing.pool.freeSlots(), 4)
  const neighbour = testing.run([{ do: "wait" }])
  await seen(neighbour, "waiting")
  assert.equal(isAlive(Number(PID)), true)
  const endless = testing.run([{ do: "environment" }, { do: "pause" }, { do: "spin" }])
  await environmentOf(endless)
  await until(() => testing.pool.freeSlots() === 0, { what: "its event loop is blocked" })
  testing.pool.giveUp(endless.order.claimId)

  const detail = "signal SIGKILL: its event loop is held by a run whose time is over"
  assert.deepEqual(await lossOf(neighbour), { lost: "shared_worker_died", detail })
  assert.deepEqual([stubborn.ends, endless.ends], [[], []])
  assert.equal(isAlive(Number(PID)), false)
})

test("P13: abandoning a run that executes alone ends its process", async () => {
  await using testing = await startTestPool()
  const endless = testing.run([{ do: "environment" }, { do: "pause" }, { do: "spin" }], alone)
  const { PID } = await environmentOf(endless)

  testing.pool.giveUp(endless.order.claimId)

  await until(() => testing.pool.freeSoloSlots() === 2, { what: "its slot is free" })
  assert.equal(isAlive(Number(PID)), false)
  assert.deepEqual(endless.ends, [])
})

const hasProc = existsSync("/proc/self/status")

test("P14: a worker that exceeds its memory limit is killed, and the reason is reported", {
  skip: !hasProc && "no /proc",
}, async () => {
  await using testing = await startTestPool({ limits: { memoryMb: 200, memoryEveryMs: 20 } })

  const run = testing.run([{ do: "hog", sizeBytes: 250 * 2 ** 20 }])

  const { lost, detail } = await lossOf(run)
  assert.equal(lost, "worker_died")
  assert.match(detail, /^signal SIGKILL: it used (2\d\d|3\d\d) MB of its 200 MB$/)
  assert.equal(await statusOf(testing.run([{ do: "done" }])), "success")
})

test("P14: JavaScript's heap has the same limit, and without a limit it has none", () => {
  const program = { execPath: "/node", nodeVersion: 20, main: "/main.js" }
  const options = (memoryMb: number, nodeVersion = 20) => {
    const command = workerCommand({ ...program, memoryMb, nodeVersion })
    return command.slice(command.indexOf("/node"))
  }

  assert.deepEqual(options(512), ["/node", "--max-old-space-size=512", "/main.js"])
  assert.deepEqual(options(0), ["/node", "/main.js"])
  assert.deepEqual(options(0, 24), ["/node", "--disable-sigusr1", "--max-semi-space-size=8", "/main.js"])
  assert.equal(residentMb("VmPeak:\t  900 kB\nVmRSS:\t 2263040 kB\n"), 2210)
  assert.equal(residentMb(""), undefined)
  assert.equal(overLimit(2210, 2048), "it used 2,210 MB of its 2,048 MB")
})

test("P15: processes that a graph started end with its worker", async () => {
  await using testing = await startTestPool()
  const run = testing.run([{ do: "start" }, { do: "wait" }, { do: "pause" }, { do: "exit", code: 0 }])

  const { data } = await seen(run, "started")

  await endOf(run)
  await until(() => !isAlive(Number((data as { pid: number }).pid)), { what: "the graph's own process has ended" })
})

test("an exit is described by its code or signal", () => {
  assert.equal(exitReason(1, null), "exit code 1")
  assert.equal(exitReason(null, "SIGSEGV"), "signal SIGSEGV")
  assert.match(exitReason(null, "SIGABRT"), /memory is full/)
})
