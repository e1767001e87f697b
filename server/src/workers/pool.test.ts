import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { utimes } from "node:fs/promises"
import { dirname } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Conflict, KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import { until } from "@superstep/toolkit/testing/until"
import type { CallHandlers } from "./calls.js"
import { runFailure } from "./error-codes.js"
import { ClaimLost } from "./fence.js"
import { WorkerCallFailed } from "./pending-calls.js"
import { afterDeath } from "./restart-delay.js"
import {
  endOf,
  environmentOf,
  isAlive,
  lossOf,
  project,
  recordCalls,
  resultOf,
  runOrder,
  seen,
  startSecondWorker,
  startTestPool,
  type TestPool,
} from "./testing/test-pool.js"
import { projectEnv, workerEnv } from "./worker-env.js"

test("P1: when a worker dies, its runs are lost once, and runs of other workers continue", async () => {
  await using testing = await startTestPool({ workers: 2 })
  await startSecondWorker(testing)
  const [first, second] = [testing.run([{ do: "wait" }]), testing.run([{ do: "wait" }])]
  await Promise.all([seen(first, "waiting"), seen(second, "waiting")])

  const killer = testing.run([{ do: "kill" }])

  assert.deepEqual(await endOf(killer), { lost: "shared_worker_died", detail: "signal SIGKILL" })
  await until(() => first.ends.length + second.ends.length > 0, { what: "the other run of the worker is lost" })
  const [lost, kept] = first.ends.length > 0 ? [first, second] : [second, first]
  assert.deepEqual(lost.ends, [{ lost: "shared_worker_died", detail: "signal SIGKILL" }])
  assert.deepEqual(kept.ends, [])
  testing.pool.cancel(kept.order.claimId)
  assert.deepEqual(await endOf(kept), { done: { ...cancelled } })
  assert.equal(lost.ends.length, 1)
})

const cancelled = { status: "cancelled", error: undefined, next: [], values: undefined, interrupts: "{}" }

test("P1, P2, P3: an exit by the user's code and a violation of the protocol lose the run, a result just before the exit counts", async () => {
  await using testing = await startTestPool()

  const exited = await lossOf(testing.run([{ do: "exit", code: 7 }]))
  const violating = await lossOf(testing.run([{ do: "garbage" }]))
  const finished = await resultOf(testing.run([{ do: "exit_after_done" }]))

  assert.deepEqual(exited, { lost: "worker_died", detail: "exit code 7" })
  assert.equal(finished.values, '{"last":"word"}')
  // The fake worker exits when its connection closes, which may be before the signal.
  const why = /(signal SIGKILL|exit code 0): the worker sent a header that is not JSON: this is not a frame/
  assert.match(violating.detail, why)
})

test("P4: a dead worker is replaced, and free slots are announced", async () => {
  await using testing = await startTestPool({ limits: { maxRuns: 3 } })
  let calls = 0
  testing.pool.onFree(() => {
    calls += 1
  })
  assert.equal(testing.pool.deaths, 0)
  await endOf(testing.run([{ do: "exit", code: 1 }]))
  const callsAtDeath = calls

  await until(() => testing.pool.freeSlots() === 3, { what: "the worker is back" })

  assert.ok(calls > callsAtDeath)
  assert.equal(testing.pool.deaths, 1)
  await resultOf(testing.run([{ do: "done" }]))
})

test("P5: a worker that stops responding is killed after the limit", async () => {
  await using testing = await startTestPool({ limits: { pingEveryMs: 20, stalledMs: 200 } })

  const run = testing.run([{ do: "spin" }])

  const detail = "signal SIGKILL: its event loop was held for 0.2 s"
  assert.deepEqual(await lossOf(run), { lost: "worker_blocked", detail })
})

test("delays between restarts double up to ten seconds, and restart from the shortest after a healthy run", () => {
  const delays = [0, 1, 2, 3, 7, 20].map((deaths) => afterDeath(deaths, { servedMs: 0, hadRuns: false }).delayMs)

  assert.deepEqual(delays, [100, 200, 400, 800, 10_000, 10_000])
  assert.deepEqual(afterDeath(9, { servedMs: 60_000, hadRuns: false }), { deaths: 1, delayMs: 100 })
  assert.deepEqual(afterDeath(2, { servedMs: 9_999, hadRuns: false }), { deaths: 3, delayMs: 400 })
  assert.deepEqual(afterDeath(2, { servedMs: 50, hadRuns: true }), { deaths: 1, delayMs: 100 })
})

test("P6: a worker's environment has its own settings and the agent's, but not the server's", async () => {
  const serverEnv = { ...process.env, DATABASE_URI: "postgres://secret", SUPERSTEP_UNIT_TOKEN: "secret", AWS_KEY: "no" }
  const agent = { ...project(), env: { OPENAI_API_KEY: "mine", SUPERSTEP_WORKER_ID: "forged" } }
  await using testing = await startTestPool({ serverEnv, project: agent })

  const environment = await environmentOf(testing.run([{ do: "environment" }]))
  assert.equal(environment.OPENAI_API_KEY, "mine")
  assert.equal(environment.PATH, process.env.PATH)
  assert.equal(environment.SUPERSTEP_WORKER_ID, "1.1.1")
  const names = Object.keys(environment).filter((name) => /SUPERSTEP|DATABASE|AWS/.test(name))
  assert.deepEqual(names.sort(), ["SUPERSTEP_WORKER_ID", "SUPERSTEP_WORKER_SOCKET", "SUPERSTEP_WORKER_TITLE"])
  assert.equal(workerEnv({}, {}, { socketPath: "/s", workerId: "w", title: "t" }).PATH, undefined)
  // LangChain's callbacks are awaited unless the project says otherwise.
  assert.equal(projectEnv({}, {}).LANGCHAIN_CALLBACKS_BACKGROUND, "false")
  const own = { LANGCHAIN_CALLBACKS_BACKGROUND: "true" }
  assert.equal(projectEnv({}, own).LANGCHAIN_CALLBACKS_BACKGROUND, "true")
})

test("a worker's call gets a reply, or an error by name", async () => {
  const handlers: CallHandlers = {
    "store.batch": async ({ run_id }, [line]) => {
      if (String(line) === "bug") throw new Error("the database password is swordfish")
      return { fields: { knows: run_id !== undefined }, payload: [{ name: "results", data: `"hello ${line}"` }] }
    },
    "checkpoint.get": async () => assert.fail("the call names no thread"),
  }
  await using testing = await startTestPool({ handlers })
  const answerTo = async (method: string, line = "you") => {
    const run = testing.run([{ do: "call", method, lines: [line] }, { do: "done" }])
    return (await seen(run, "answer")).data as Record<string, unknown>
  }

  const greeting = await answerTo("store.batch")
  const unknown = await answerTo("__proto__")
  const invalid = await answerTo("checkpoint.get")
  const bug = await answerTo("store.batch", "bug")

  assert.deepEqual([greeting.type, greeting.knows, greeting.payload], ["reply", true, ["results"]])
  assert.match(JSON.stringify(invalid.error), /InvalidInput.*checkpoint\.get: frame must have .*thread_id/)
  assert.equal((unknown.error as { error: string }).error, "UnknownMethod")
  assert.deepEqual(bug.error, { error: "InternalError", message: "the server could not answer: see its log" })
})

test("P7: a lost claim ends the run here, and later frames of its worker are dropped", async () => {
  const handlers: CallHandlers = {
    "store.batch": async ({ run_id }) => {
      throw new ClaimLost(String(run_id))
    },
  }
  await using testing = await startTestPool({ handlers })

  const run = testing.run([{ do: "call", method: "store.batch", lines: ["[]"] }, { do: "done" }])
  const after = testing.run([{ do: "wait" }])

  const detail = `run ${run.order.runId} has moved on to another attempt`
  assert.deepEqual(await endOf(run), { lost: "claim_lost", detail })
  await seen(after, "waiting")
  assert.deepEqual([run.events, run.ends.length], [[], 1])
  assert.equal(testing.pool.freeSlots(), 3)
})

const stateOf = ({ pool }: TestPool, thread_id: string, graph_id = "chat") =>
  pool.call("graph.state", { graph_id, thread_id }, { config: "{}" })

test("a call to a worker succeeds, or fails with the worker's error, the server's, or that of a worker that dies", async () => {
  await using testing = await startTestPool()

  const reply = await stateOf(testing, "t")

  assert.equal(JSON.parse(String(reply.payload[0])).method, "graph.state")
  const isTypeError = (error: unknown) => error instanceof WorkerCallFailed && error.error === "TypeError"
  await assert.rejects(stateOf(testing, "fail"), isTypeError)
  const isConflict = (error: unknown) => error instanceof Conflict && error.message.includes("langgraph.json")
  await assert.rejects(stateOf(testing, "t", "none"), isConflict)
  // What the server returned to the worker is not reported as the graph's error.
  await assert.rejects(stateOf(testing, "fail:DatabaseUnavailable"), Unavailable)
  await assert.rejects(stateOf(testing, "fail:InternalError"), (error) => !(error instanceof KnownError))
  await assert.rejects(stateOf(testing, "die"), Unavailable)
})

test("a call without a reply in time fails, and a late reply is ignored", async () => {
  await using testing = await startTestPool({ limits: { callMs: 30 } })

  await assert.rejects(stateOf(testing, "late"), Unavailable)

  await resultOf(testing.run([{ do: "done" }]))
  const next = () => stateOf(testing, "t")
  await until(() => next().then(Boolean, () => false), { what: "later calls are answered" })
})

test("P11: a run without a worker waits for one, and can be stopped meanwhile", async () => {
  await using testing = await startTestPool()
  await endOf(testing.run([{ do: "exit", code: 1 }]))

  const [waits, stopped] = [testing.run([{ do: "done" }]), testing.run([{ do: "done" }])]
  testing.pool.cancel(stopped.order.claimId)

  assert.deepEqual(await endOf(stopped), { done: cancelled })
  assert.equal((await resultOf(waits)).status, "success")
})

test("P11: a run that waits for a worker is handed back when the pool stops", async () => {
  const testing = await startTestPool()
  await endOf(testing.run([{ do: "exit", code: 1 }]))
  const waits = testing.run([{ do: "done" }])

  await testing.pool.stop(0)

  assert.deepEqual(waits.ends, [{ lost: "stopped", detail: "the server stops" }])
})

test("P8: fifty thousand events arrive completely, in order and before the end", async () => {
  await using testing = await startTestPool()
  const order = runOrder([{ do: "events", count: 50_000, sizeBytes: 200 }, { do: "done" }])
  let next = 0
  let outOfOrder = 0
  const told = { events: [], ends: [] } as Parameters<typeof recordCalls>[0]

  testing.pool.execute(order, {
    ...recordCalls(told),
    onEvent: (_event, data) => {
      if (!data.toString("latin1", 0, 12).startsWith(`{"n":${next},`.slice(0, 12))) outOfOrder += 1
      next += 1
    },
  })

  await until(() => told.ends.length > 0, { what: "the run has ended" })
  assert.deepEqual([outOfOrder, next, "done" in (told.ends[0] ?? {})], [0, 50_000, true])
})

test("a graph that fails to load does not affect the others, and its runs fail with the reason", async () => {
  await using testing = await startTestPool({ project: project({ chat: "./chat:graph", bad: "./broken:graph" }) })

  const run = testing.run([], { graphId: "bad" })
  const unknown = testing.run([], { graphId: "none" })
  const good = testing.run([{ do: "done" }])

  const message = "SyntaxError: unexpected token"
  const codeFrame = "> 1 | expot const graph"
  assert.deepEqual(testing.report, { graphs: ["chat"], failed: [{ graphId: "bad", message, codeFrame }] })
  const failed = { status: "error", next: [], values: undefined, interrupts: "{}" }
  assert.deepEqual(await endOf(run), { done: { ...failed, error: runFailure("GraphLoadError", message) } })
  const noGraph = runFailure("GraphNotFound", 'the project has no graph "none": add it to langgraph.json')
  assert.deepEqual(await endOf(unknown), { done: { ...failed, error: noGraph } })
  await resultOf(good)
})

test("workers that exit while loading are reported, and a run finds no worker", async () => {
  const limits = { holdMs: 20 }
  await using testing = await startTestPool({ project: project({ chat: "./exit:now" }), workers: 2, limits })

  const run = testing.run([])
  const unknown = testing.run([], { graphId: "none" })

  const message = "the worker ended while it loaded chat: exit code 3"
  assert.deepEqual(testing.report, { graphs: [], failed: [{ graphId: "chat", message }] })
  assert.deepEqual(await endOf(run), { lost: "no_worker", detail: "no worker is up" })
  assert.equal((await resultOf(unknown)).error?.error, "GraphNotFound")
  assert.equal(testing.pool.freeSlots(), 0)
})

test("a worker that is killed while it loads does not make its graphs fail", async () => {
  await using testing = await startTestPool({ project: project({ chat: "./killed:once" }), workers: 2 })

  assert.deepEqual(testing.report, { graphs: ["chat"], failed: [] })
  await resultOf(testing.run([{ do: "done" }]))
})

test("a graph that never finishes loading fails after the time limit", async () => {
  await using testing = await startTestPool({ project: project({ chat: "./never:loads" }), limits: { loadMs: 300 } })

  const [failure] = testing.report.failed

  assert.match(failure?.message ?? "", /signal SIGKILL: it did not load its graphs within 0.3 s: .*top-level await/)
})

test("P9: a stop lets runs finish and leaves no process running; a stopped pool still reports its graphs", async () => {
  const testing = await startTestPool()
  const { SUPERSTEP_WORKER_SOCKET } = await environmentOf(testing.run([{ do: "environment" }, { do: "done" }]))
  const folder = dirname(SUPERSTEP_WORKER_SOCKET ?? "")
  assert.equal(existsSync(folder), true)
  const order = runOrder([{ do: "wait" }])
  const told = { events: [], ends: [] } as Parameters<typeof recordCalls>[0]
  testing.pool.execute(order, recordCalls(told))
  await seen(told, "waiting")

  const stopped = testing.pool.stop(60_000)
  const refused = testing.run([{ do: "done" }])
  testing.pool.cancel(order.claimId)
  await stopped

  assert.ok(told.ends[0] && "done" in told.ends[0])
  assert.deepEqual(await endOf(refused), { lost: "stopped", detail: "the server stops" })
  assert.equal(existsSync(folder), false)
  const { graphs, failed } = testing.pool.report()
  assert.deepEqual([graphs, failed, testing.pool.freeSlots()], [["chat"], [], 0])
  await assert.rejects(stateOf(testing, "t"), Unavailable)
  await testing[Symbol.asyncDispose]()
})

test("P9: runs that do not finish in time are killed and lost", async () => {
  const testing = await startTestPool({ limits: { stopMs: 100 } })
  const [waiting, spinning] = [testing.run([{ do: "wait" }]), testing.run([{ do: "wait" }, { do: "spin" }])]
  await seen(spinning, "waiting")

  await testing.pool.stop(50)

  for (const { ends } of [waiting, spinning]) assert.equal(ends[0] && "lost" in ends[0] && ends[0].lost, "stopped")
})

test("P9: after the grace time runs are handed back at the end of their super-step", async () => {
  const testing = await startTestPool()
  const runs = [testing.run([{ do: "wait" }]), testing.run([{ do: "wait" }], { runsAlone: true })]
  await Promise.all(runs.map((run) => seen(run, "waiting")))

  await testing.pool.stop(300)

  const detail = "it stopped after a super-step, since the server stops"
  for (const { ends } of runs) assert.deepEqual(ends, [{ lost: "stopped", detail }])
})

test("P9: a stop without grace time does not wait for super-steps", async () => {
  const testing = await startTestPool()
  const run = testing.run([{ do: "wait" }])
  await seen(run, "waiting")

  await testing.pool.stop(0)

  assert.deepEqual(run.ends, [{ lost: "stopped", detail: "exit code 0" }])
})

const hasSetpriv = existsSync("/usr/bin/setpriv")

test("P10: a worker in an endless loop does not outlive its server", {
  skip: !hasSetpriv && "no setpriv",
}, async () => {
  const script = fileURLToPath(new URL("./testing/doomed-server.js", import.meta.url))
  const server = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = (await once(server.stdout, "data")) as [Buffer]
  const { PID, SUPERSTEP_WORKER_SOCKET } = JSON.parse(line.toString("utf8"))

  server.kill("SIGKILL")

  await until(() => !isAlive(Number(PID)), { what: "the worker has ended" })
  const folder = dirname(SUPERSTEP_WORKER_SOCKET)
  const longAgo = new Date(Date.now() - 3_600_000)
  await utimes(SUPERSTEP_WORKER_SOCKET, longAgo, longAgo)
  await using _next = await startTestPool()
  assert.equal(existsSync(folder), false)
})
