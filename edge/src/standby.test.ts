/** A standby unit, which served before, gets a request only when the serving one cannot be reached. */
import assert from "node:assert/strict"
import test from "node:test"
import { edgeWithUnit, route, startUnit, withKey } from "./testing/harness.js"

test("when the serving unit crashes, the standby unit gets its requests, and none before", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("new"))
  await using former = await startUnit(setup.folder, "former", (_, response) => void response.end("former"))
  await setup.edge.take({ generation: 2, routes: [route("chat", [setup.unit.unit], { standby: [former.unit] })] })
  const ask = async () => {
    const response = await fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body: "{}" })
    return `${response.status} ${await response.text()}`
  }

  const before = await Promise.all(Array.from({ length: 20 }, ask))
  await setup.unit.close()
  const after = await Promise.all(Array.from({ length: 20 }, ask))

  assert.deepEqual([...new Set(before)], ["200 new"])
  assert.deepEqual([...new Set(after)], ["200 former"])
})
