/** W9: a run whose readers are behind sends nothing for a while. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { RunFrame } from "@superstep/protocol/worker/frames"
import { FakeServer } from "../testing/fake-server.js"
import { project, pythonGraphs, skip, startPythonWorker } from "../testing/python-worker.js"
import { graphsFolder, workerMain } from "../testing/worker.js"

let server: FakeServer
before(async () => {
  server = await FakeServer.start(workerMain)
  await server.load(graphsFolder, { slow: "./src/slow.ts:graph" })
})
after(() => server[Symbol.asyncDispose]())

const options = { input: { n: 0 }, stream_modes: ["custom"], config: { configurable: { tick_ms: 20 } } }

/** Starts a run, waits for its first event, and pauses it. */
async function startPaused(on: FakeServer): Promise<RunFrame> {
  const frame = on.startRun("slow", options)
  const { claim_id } = frame
  await on.frame(({ header }) => header.type === "event" && header.claim_id === claim_id)
  tell(on, frame, "pause_events")
  // After the pong, the worker has read all frames before the ping.
  on.send({ type: "ping", nonce: claim_id })
  await on.frame(({ header }) => header.type === "pong" && header.nonce === claim_id)
  return frame
}

const tell = (on: FakeServer, { run_id, claim_id }: RunFrame, type: string) => on.send({ type, run_id, claim_id })

const ticks = (on: FakeServer, { claim_id }: RunFrame) =>
  on.events(claim_id).map(({ data }) => (data as { tick: number }).tick)

test("W9: a paused run sends no event until it is resumed, then all of them, while another run of the worker continues", async () => {
  const paused = await startPaused(server)
  const before = ticks(server, paused)

  const neighbour = await server.run("slow", options)
  const meanwhile = ticks(server, paused)
  tell(server, paused, "resume_events")
  const { status } = await server.done(paused)

  assert.deepEqual(meanwhile, before)
  assert.deepEqual([neighbour.status, neighbour.events.length, status], ["success", 5, "success"])
  assert.deepEqual(ticks(server, paused), [0, 1, 2, 3, 4])
})

test("W9: a paused run can be cancelled", async () => {
  const paused = await startPaused(server)

  tell(server, paused, "cancel")

  assert.equal((await server.done(paused)).status, "cancelled")
})

test("W9: a Python run sends no event until it is resumed, and can be cancelled", { skip }, async () => {
  await using python = await startPythonWorker()
  await python.load(project, pythonGraphs)
  const [paused, cancelled] = [await startPaused(python), await startPaused(python)]
  const before = [ticks(python, paused), ticks(python, cancelled)]

  const neighbour = await python.run("slow", options)
  const meanwhile = [ticks(python, paused), ticks(python, cancelled)]
  tell(python, paused, "resume_events")
  tell(python, cancelled, "cancel")
  const ends = [await python.done(paused), await python.done(cancelled)]

  assert.deepEqual(meanwhile, before)
  assert.deepEqual([neighbour.status, ...ends.map(({ status }) => status)], ["success", "success", "cancelled"])
  assert.deepEqual(ticks(python, paused), [0, 1, 2, 3, 4])
})
