/** Two real edges, which the control plane's part finds by a list. */

import assert from "node:assert/strict"
import test from "node:test"
import { edgeStatus, pushTable } from "@superstep/edge/client"
import type { Table } from "@superstep/edge/table"
import { type RunningUnit, readNext, route, startUnit, token, withKey } from "@superstep/edge/testing/harness"
import type { Address } from "@superstep/protocol/http/address"
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type FoundEdge, severalEdges } from "./edges.js"
import { type TcpEdge, tcpEdge } from "./testing/tcp-edge.js"
import { listenForWakeCallsAt } from "./wake-port.js"

/** Two edges with a table of one route, whose units say which of them answers. */
// An edge that shares its processor with other tests may be silent for some seconds.
const busyMachineMs = 60_000

async function setUp({ units: count = 1, env = {} }: { units?: number; env?: Record<string, string> } = {}) {
  const folder = temporaryFolder()
  const units: RunningUnit[] = []
  for (let index = 0; index < count; index++) {
    const id = `u${index}`
    const unit = await startUnit(folder, id, (request, response) => {
      if (!request.url?.startsWith("/stream")) return void response.end(id)
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write("data: 1\n\n")
    })
    units.push(unit)
  }
  const wakePort = await freePort()
  const wakeAddress: Address = `http://127.0.0.1:${wakePort}`
  const all: TcpEdge[] = [await tcpEdge(wakeAddress, env), await tcpEdge(wakeAddress, env)]
  const found = () => Promise.all(all.map((it) => it.found()))
  const controlPlane = (addresses: () => Promise<FoundEdge[]> = found, patienceMs = busyMachineMs) =>
    severalEdges({ addresses, token, url: all[0]?.url ?? "", patienceMs, log })
  const edges = controlPlane()
  const tableOf = (generation: number, change: Parameters<typeof route>[2] = {}): Table => ({
    generation,
    routes: [
      route(
        "chat",
        units.map(({ unit }) => unit),
        change,
      ),
    ],
  })
  const dispose = async () => {
    await edges.close()
    for (const it of [...all, ...units]) await it[Symbol.asyncDispose]()
  }
  const [one, two] = all as [TcpEdge, TcpEdge]
  const areReady = () =>
    until(async () => (await found()).every(({ isReady }) => isReady), { what: "all edges are ready" })
  const begin = async () => {
    await until(() => edges.status().catch(() => undefined), { what: "the edges answer" })
    await edges.push(tableOf(1))
    await edges.ensure()
    await areReady()
  }
  return {
    all,
    one,
    two,
    edges,
    controlPlane,
    tableOf,
    begin,
    areReady,
    wakePort,
    wakeAddress,
    [Symbol.asyncDispose]: dispose,
  }
}

const ask = async (edge: TcpEdge, path = "/x"): Promise<string> => {
  const response = await fetch(`${edge.url}/d/chat${path}`, { headers: withKey })
  return `${response.status} ${await response.text()}`
}

test("an edge is ready with its first table and not before, and a push reaches every one that is ready (M1, M2)", async () => {
  await using setup = await setUp()
  const { one, two, edges, tableOf } = setup
  for (const { admin } of setup.all) {
    const isLive = () =>
      fetch(`${admin}/live`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(isLive, { what: "the edge works, without a table" })
  }
  assert.equal((await one.found()).isReady, false)
  await assert.rejects(ask(one), "it accepts a caller without a table")
  assert.equal(await edges.isAlive(), false)
  const strange = await fetch(`${one.admin}/status`, { headers: { authorization: "Bearer another" } })
  assert.equal(strange.status, 401)

  await setup.begin()
  assert.deepEqual([await ask(one), await ask(two)], ["200 u0", "200 u0"])
  assert.equal(await edges.isAlive(), true)
  await edges.push(tableOf(2, { state: "paused" }))
  assert.deepEqual([(await ask(one)).slice(0, 3), (await ask(two)).slice(0, 3)], ["503", "503"])
  const { generation, newestGeneration } = await edges.status()
  assert.deepEqual({ generation, newestGeneration }, { generation: 2, newestGeneration: 2 })
  const impatient = setup.controlPlane(undefined, 0)
  assert.deepEqual(await impatient.push(tableOf(3)), { generation: 3 }, "the search for edges may take longer")
  await impatient.close()
})

test("an edge that is killed under load delays no push, and callers of the other notice nothing", async () => {
  await using setup = await setUp()
  await setup.begin()
  const { one, two, edges, tableOf } = setup
  let isOver = false
  const answers: string[] = []
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver) answers.push(await ask(two).catch((error: unknown) => String(error)))
  })
  const before = async (count: number) => {
    const wanted = answers.length + count
    await until(() => answers.length >= wanted, { what: "callers are answered" })
  }
  await before(20)

  await one.kill()
  await edges.push(tableOf(2))
  await before(20)
  const status = await edges.status()
  isOver = true
  await Promise.all(callers)

  assert.deepEqual([...new Set(answers)], ["200 u0"])
  assert.equal(status.generation, 2)
})

test("an edge that starts again uses no former table while the control plane runs: a revoked key stays revoked; else it serves by that (M2)", async () => {
  await using setup = await setUp()
  await setup.begin()
  const { one, edges, tableOf } = setup
  await one.kill()
  await edges.push(tableOf(2, { keys: [] }))

  one.start()
  await setup.areReady()

  assert.equal((await ask(one)).slice(0, 3), "401")
  assert.equal((await edges.status()).generation, 2)
  await edges.push(tableOf(3))
  await edges.close()
  await one.kill()
  one.start()
  await setup.areReady()
  assert.equal(await ask(one), "200 u0")
})

test("a new edge gets the last table, and a new control plane finds all edges with theirs", async () => {
  await using setup = await setUp()
  await setup.begin()
  await using third = await tcpEdge(setup.wakeAddress)
  setup.all.push(third)

  await setup.areReady()
  assert.equal(await ask(third), "200 u0")

  const next = setup.controlPlane()
  assert.equal(await next.isAlive(), true)
  assert.equal((await next.status()).generation, 1)
  assert.equal(await ask(third), "200 u0")
  await next.push(setup.tableOf(2, { state: "paused" }))
  for (const edge of setup.all) assert.equal((await ask(edge)).slice(0, 3), "503")
  await next.close()
})

test("a ready edge that does not answer keeps no table from the others, and is known as silent", async () => {
  await using setup = await setUp()
  await setup.begin()
  const dead: Address = `http://127.0.0.1:${await freePort()}`
  const addresses = async () => [await setup.one.found(), { address: dead, isReady: true }]
  const edges = setup.controlPlane(addresses, lateOnBusyMachineMs)

  const before = await edges.status()
  await assert.rejects(edges.push(setup.tableOf(before.generation + 2, { state: "paused" })), Unavailable)
  const after = await edges.status()
  await edges.close()

  assert.equal((await ask(setup.one)).slice(0, 3), "503")
  assert.deepEqual([before.generation, before.newestGeneration, before.silent], [0, 1, [dead]])
  assert.deepEqual([after.generation, after.newestGeneration, after.silent], [0, 2, [dead]])
})

test("an edge that hangs delays no table for another one, and has the newest as soon as it answers, without a push (M5)", async () => {
  await using setup = await setUp()
  await setup.begin()
  const { one, two, tableOf } = setup
  let isOneReady = true
  const addresses = async () => [
    { address: one.admin, isReady: isOneReady },
    { address: two.admin, isReady: true },
  ]
  const edges = setup.controlPlane(addresses)
  const lagOf = async ({ admin }: TcpEdge) => (await edges.tables()).find(({ edge }) => edge === admin)
  await edges.push(tableOf(2))

  one.signal("SIGSTOP")
  const first = edges.push(tableOf(3))
  await until(async () => (await lagOf(two))?.generation === 3, { what: "the other one has the table" })
  const second = edges.push(tableOf(4, { state: "paused" }))
  await until(async () => (await ask(two)).startsWith("503"), { what: "the other one uses the next table, too" })
  const [hanging, other] = [await lagOf(one), await lagOf(two)]
  // The cluster notices that it does not answer.
  isOneReady = false
  const pushed = await Promise.all([first, second])
  one.signal("SIGCONT")
  await until(async () => (await lagOf(one))?.behindMs === 0, { what: "it has the newest table" })

  assert.deepEqual([other?.generation, other?.behindMs], [4, 0])
  assert.equal(hanging?.generation, 2)
  assert.ok((hanging?.behindMs ?? 0) > 0)
  assert.deepEqual(pushed, [{ generation: 3 }, { generation: 4 }])
  assert.equal((await lagOf(one))?.generation, 4)
  assert.equal((await ask(one)).slice(0, 3), "503")
  await edges.close()
})

test("an edge with a table of another control plane refuses ours, and none of ours counts as its own", async () => {
  await using setup = await setUp()
  await setup.begin()
  const { one, two, edges, tableOf } = setup
  await pushTable({ address: one.admin, token }, tableOf(9))

  const { generation, newestGeneration } = await edges.status()
  await assert.rejects(edges.push(tableOf(2, { state: "paused" })), Conflict)
  await until(async () => (await ask(two)).startsWith("503"), { what: "the other one has the table" })
  assert.equal(await ask(one), "200 u0")
  await edges.push(tableOf(10, { state: "paused" }))

  assert.deepEqual([generation, newestGeneration], [1, 9])
  assert.equal((await ask(one)).slice(0, 3), "503")
})

test("what is open and what was answered is counted over all edges, also over one that stops, until the deployment's route ends (M3, M4)", async () => {
  await using setup = await setUp({ env: { SUPERSTEP_EDGE_GRACE_SECONDS: "120" } })
  await setup.begin()
  const { one, two, edges, tableOf } = setup
  const deployment = "deployment-of-chat"
  for (const edge of [one, one, two]) await ask(edge)
  const open = new AbortController()
  const stream = await fetch(`${one.url}/d/chat/stream`, { headers: withKey, signal: open.signal })
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  assert.equal(await readNext(reader), "data: 1\n\n")
  const first = await edges.status()
  assert.equal(first.units.u0?.streams, 1)
  assert.equal(first.deployments[deployment]?.requests, 4)

  const stopped = one.kill("SIGTERM")
  await until(async () => !(await one.found()).isReady, { what: "the first one gets no more callers" })
  await ask(two)
  const second = await edges.status()
  assert.equal(second.units.u0?.streams, 1, "the stream on the edge that stops is not counted")
  assert.equal(second.deployments[deployment]?.requests, 5)
  assert.equal(await edgeStatus({ address: one.admin, token }).then(({ generation }) => generation), 1)

  // Its key is revoked.
  await edges.push(tableOf(2, { keys: [] }))
  await assert.rejects(readNext(reader))
  assert.equal(await stopped, 0)
  setup.all.splice(0, 1)
  const last = await edges.status()
  assert.equal(last.deployments[deployment]?.requests, 5, "what the former edge has answered is not counted any more")
  assert.equal(last.units.u0?.streams, 0)
  await edges.push({ generation: 3, routes: [] })
  assert.deepEqual((await edges.status()).deployments, {})
})

test("after a start it is unknown what an edge without callers carries, until that has said it or is gone (M3)", async () => {
  await using setup = await setUp()
  await setup.begin()
  const { one, two } = setup
  const open = new AbortController()
  const stream = await fetch(`${one.url}/d/chat/stream`, { headers: withKey, signal: open.signal })
  const gone: Address = `http://127.0.0.1:${await freePort()}`
  const addresses = async () => [
    { address: one.admin, isReady: false },
    { address: two.admin, isReady: true },
    { address: gone, isReady: false },
  ]
  one.signal("SIGSTOP")
  const edges = setup.controlPlane(addresses)

  const { silent, generation } = await edges.status()
  one.signal("SIGCONT")
  const said = await until(
    async () => {
      const status = await edges.status()
      return status.silent?.length === 0 && status
    },
    { what: "the edge without callers has answered" },
  )
  one.signal("SIGSTOP")
  const later = await edges.status()
  one.signal("SIGCONT")
  await edges.close()
  open.abort()
  await stream.text().catch(() => undefined)

  assert.deepEqual([silent, generation], [[one.admin], 1])
  for (const status of [said, later]) assert.deepEqual([status.units.u0?.streams, status.silent], [1, []])
})

test("a caller of any edge wakes a deployment over TCP, and waits for the table that comes to all", async (t) => {
  await using setup = await setUp()
  await setup.begin()
  const { one, two, edges, tableOf, wakePort } = setup
  const asleep = { deployment_id: crypto.randomUUID() }
  await edges.push(tableOf(2, { ...asleep, units: [], state: "held" }))
  const woken: string[] = []
  const wake = async (id: string) => {
    woken.push(id)
  }
  t.after(await listenForWakeCallsAt({ host: "127.0.0.1", port: wakePort }, wake, { log, token }))
  const refused = await fetch(`${setup.wakeAddress}/wake/${asleep.deployment_id}`, { method: "POST" })
  assert.equal(refused.status, 401)

  const waiting = [one, two].map((edge) => ask(edge, "/runs"))
  await until(() => woken.length === 2, { what: "both edges have asked" })
  await edges.push(tableOf(3, asleep))

  assert.deepEqual(await Promise.all(waiting), ["200 u0", "200 u0"])
  assert.deepEqual([...new Set(woken)], [asleep.deployment_id])
})
