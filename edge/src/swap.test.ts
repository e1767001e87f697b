import assert from "node:assert/strict"
import { mkdir, readFile, rm, rmdir, writeFile } from "node:fs/promises"
import type { RequestListener } from "node:http"
import test from "node:test"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { edgeStatus, pushTable } from "./client.js"
import { edgeWithUnit, gate, readNext, route, startEdge, startUnit, untilOpen, withKey } from "./testing/harness.js"

/** A unit that answers with its revision, and at `/stream` sends one event when `next` resolves. */
function revision(id: string, next: Promise<void>): RequestListener {
  return async (request, response) => {
    if (request.url !== "/stream") return void response.end(id)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(`data: ${id} 1\n\n`)
    await next
    response.end(`data: ${id} 2\n\n`)
  }
}

test("tables are swapped under open streams and steady requests without one failed request", async () => {
  const finish = gate()
  await using setup = await edgeWithUnit(revision("u1", finish.passed))
  await using next = await startUnit(setup.folder, "u2", revision("u2", finish.passed))
  const stream = await fetch(`${setup.chat}/stream`, { headers: withKey })
  const reader = stream.body?.getReader()
  assert.ok(reader)
  assert.equal(await readNext(reader), "data: u1 1\n\n")

  let isOver = false
  const failures: string[] = []
  const answers = new Map<string, number>()
  const steady = async () => {
    while (!isOver) {
      const response = await fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body: "{}" })
      const text = await response.text()
      if (response.status === 200) answers.set(text, (answers.get(text) ?? 0) + 1)
      else failures.push(`${response.status} ${text}`)
    }
  }
  const callers = [steady(), steady(), steady(), steady()]
  for (let generation = 2; generation <= 41; generation++) {
    const { unit } = generation % 2 === 0 ? next : setup.unit
    await setup.edge.take({ generation, routes: [route("chat", [unit])] })
    const before = answers.get(unit.unit_id) ?? 0
    await until(() => (answers.get(unit.unit_id) ?? 0) > before + 4, { what: `requests arrive at ${unit.unit_id}` })
  }
  await setup.edge.take({ generation: 42, routes: [route("chat", [next.unit])] })
  const afterAck = await Promise.all([1, 2, 3].map(() => fetch(`${setup.chat}/x`, { headers: withKey })))
  isOver = true
  await Promise.all(callers)

  assert.deepEqual(failures, [])
  assert.deepEqual(await Promise.all(afterAck.map((response) => response.text())), ["u2", "u2", "u2"])
  await untilOpen(setup.edge, { requests: 0, streams: 1, websockets: 0, idle_ms: 0 })
  finish.open()
  assert.equal(await readNext(reader), "data: u1 2\n\n")
  assert.equal(await readNext(reader), undefined)
  await untilOpen(setup.edge, undefined)
})

test("a waiting request is not sent to another deployment that takes over the name", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("mine"))
  await setup.unit.close()
  await using other = await startUnit(setup.folder, "u2", (_, response) => void response.end("another's"))

  const waiting = fetch(`${setup.chat}/x`, { headers: withKey })
  await until(() => setup.edge.hasLogged("unit could not be reached"), { what: "the caller waits for the unit" })
  await setup.edge.take({ generation: 2, routes: [route("chat", [other.unit], { deployment_id: "other", keys: [] })] })

  assert.equal((await waiting).status, 503)
})

test("an older or broken table is refused and changes nothing, the same one is accepted again", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("still here"))
  const { admin } = setup.edge
  const table = { generation: 5, routes: [route("chat", [setup.unit.unit])] }

  assert.deepEqual(await pushTable(admin, table), { generation: 5 })
  assert.deepEqual(await pushTable(admin, table), { generation: 5 })
  await assert.rejects(pushTable(admin, { generation: 4, routes: [] }), Conflict)
  await assert.rejects(pushTable(admin, { generation: 9, routes: [route("a b", [])] }), /422/)

  assert.equal((await edgeStatus(admin)).generation, 5)
  assert.equal(await (await fetch(`${setup.chat}/x`, { headers: withKey })).text(), "still here")
})

test("a table that cannot be written, as on a full disk, is used, and written when that is possible again", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("here"))
  const { tablePath } = setup.edge
  const ask = async () => (await fetch(`${setup.chat}/x`, { headers: withKey })).status
  const tableOf = (generation: number, keys?: []) => ({
    generation,
    routes: [route("chat", [setup.unit.unit], keys && { keys })],
  })
  // No file takes the place of a folder.
  await rm(tablePath)
  await mkdir(tablePath)

  await setup.edge.take(tableOf(2))
  const before = await ask()
  await setup.edge.take(tableOf(3, []))
  const revoked = await ask()
  await rmdir(tablePath)
  const written = async () => JSON.parse(await readFile(tablePath, "utf8")).generation
  await until(() => written().catch(() => 0), { what: "the table is written" })

  assert.deepEqual([before, revoked, await written()], [200, 401, 3])
  await setup.edge.end("SIGKILL")
  await using again = await startEdge(setup.folder)
  assert.equal((await edgeStatus(again.admin)).generation, 3)
  assert.equal((await fetch(`${again.url}/d/chat/x`, { headers: withKey })).status, 401)
})

test("an edge starts without a table, or with an invalid file, and accepts the next table", async () => {
  const folder = temporaryFolder()
  await using unit = await startUnit(folder, "u1", (_, response) => void response.end("here"))
  await writeFile(`${folder}/routes.json`, '{"generation": 7, "rou')
  await using edge = await startEdge(folder)
  assert.equal((await edgeStatus(edge.admin)).generation, 0)

  await edge.take({ generation: 1, routes: [route("chat", [unit.unit])] })

  assert.equal(await (await fetch(`${edge.url}/d/chat/x`, { headers: withKey })).text(), "here")
  assert.equal(JSON.parse(await readFile(edge.tablePath, "utf8")).generation, 1)
})

test("after a stop signal open streams end, no connection is accepted, and the exit code is 0", async () => {
  const finish = gate()
  await using setup = await edgeWithUnit(revision("u1", finish.passed))
  const stream = await fetch(`${setup.chat}/stream`, { headers: withKey })
  const reader = stream.body?.getReader()
  assert.ok(reader)
  await readNext(reader)

  const ended = setup.edge.end("SIGTERM")
  const isRefused = () =>
    fetch(`${setup.edge.url}/`).then(
      () => false,
      () => true,
    )
  await until(isRefused, { what: "it takes nothing new" })
  finish.open()

  assert.equal(await readNext(reader), "data: u1 2\n\n")
  assert.equal(await readNext(reader), undefined)
  assert.equal(await ended, 0)
})

test("an endless stream is cut after the grace period, and the exit code is still 0", async () => {
  await using setup = await edgeWithUnit(revision("u1", gate().passed), { SUPERSTEP_EDGE_GRACE_SECONDS: "0" })
  const stream = await fetch(`${setup.chat}/stream`, { headers: withKey })

  assert.equal(await setup.edge.end("SIGTERM"), 0)

  await assert.rejects(stream.text(), /terminated/)
})
