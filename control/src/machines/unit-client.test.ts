import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { askRuns } from "./unit-client.js"

test("invalid or endless numbers of a project's app are ignored", async (t) => {
  const socketPath = join(temporaryFolder(), "unit.sock")
  let answer = (_: ServerResponse): unknown => undefined
  const server = createServer((_, response) => answer(response)).listen(socketPath)
  t.after(() => server.close())
  await once(server, "listening")
  const address = { address: unixAddress(socketPath), token: new Secret("t") }
  const counts = (pending: string) =>
    `superstep_runs{status="pending"} ${pending}\nsuperstep_runs{status="running"} 2\n`

  answer = (response) => response.end(counts("1"))
  assert.deepEqual(await askRuns(address), { pending: 1, active: 2 })
  answer = (response) => response.end(counts("99999999999"))
  assert.equal(await askRuns(address), undefined)
  let sent = 0
  answer = (response) => {
    const block = Buffer.alloc(1024 * 1024)
    const send = () => {
      if (response.destroyed) return
      sent += block.length
      response.write(block)
    }
    response.on("drain", send)
    send()
  }
  assert.equal(await askRuns(address), undefined)
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were read`)
})
