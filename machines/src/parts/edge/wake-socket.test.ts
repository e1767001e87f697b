import assert from "node:assert/strict"
import { request } from "node:http"
import { join } from "node:path"
import test from "node:test"
import { tokenHeader } from "@superstep/edge/edge-token"
import { Secret } from "@superstep/toolkit/config/settings"
import { createLog } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { listenForWakeCalls } from "./wake-socket.js"

const token = new Secret("the token of this installation, long enough")
const deployment = "0190a1b2-0000-7000-8000-000000000001"

test("only a request with the edge's token wakes a deployment", async (t) => {
  const socketPath = join(temporaryFolder(), "wake.sock")
  const woken: string[] = []
  const wake = async (deploymentId: string) => woken.push(deploymentId)
  const log = createLog({ process: "test", level: "silent" })
  t.after(await listenForWakeCalls(socketPath, wake, { log, token }))
  const statusOf = (path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request({ socketPath, path, method: "POST", headers, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.once("error", reject)
      asked.end()
    })

  const strange = tokenHeader(new Secret("another one"))
  for (const headers of [{}, strange]) assert.equal(await statusOf(`/wake/${deployment}`, headers), 401)
  assert.equal(await statusOf("/wake/nobody", tokenHeader(token)), 404)
  assert.deepEqual(woken, [])
  assert.equal(await statusOf(`/wake/${deployment}`, tokenHeader(token)), 204)
  assert.deepEqual(woken, [deployment])
})
