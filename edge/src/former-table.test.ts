/** The table file of an edge of an older release: keys have no rights yet, and units have paths of sockets. */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { test } from "node:test"
import { unixPathOf } from "@superstep/protocol/http/address"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { edgeStatus, pushTable } from "./client.js"
import { edgeFiles, route, startEdge, startUnit, token, withKey } from "./testing/harness.js"

test("an edge that starts with such a table admits callers once it knows the rights of keys", async () => {
  const folder = temporaryFolder()
  const files = edgeFiles(folder)
  const admin = { address: files.adminAddress, token }
  await using unit = await startUnit(folder, "u1", (_request, response) => response.end("done"))
  const { read_keys: _, state: _state, standby: _standby, ...route01 } = route("chat", [])
  const { unit_id, address, token: unitToken } = unit.unit
  const former = { ...route01, units: [{ unit_id, socket_path: unixPathOf(address), token: unitToken }] }
  writeFileSync(files.tablePath, JSON.stringify({ generation: 7, routes: [former] }))

  let isListening = false
  const starting = startEdge(folder).then((edge) => {
    isListening = true
    return edge
  })
  const status = await until(() => edgeStatus(admin).catch(() => undefined), { what: "it answers us" })
  const listenedBefore = isListening
  // The same number as in the file: an edge of the older release has been given this table, too.
  await pushTable(admin, { generation: 7, routes: [route("chat", [unit.unit])] })
  await using edge = await starting
  const answer = await fetch(`${edge.url}/d/chat/runs`, { method: "POST", headers: withKey })

  assert.equal(status.generation, 0, "it asks for another one")
  assert.deepEqual(Object.keys(status.units), ["u1"], "it has read the former one")
  assert.equal(listenedBefore, false)
  assert.equal(answer.status, 200)
})
