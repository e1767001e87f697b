import assert from "node:assert/strict"
import { once } from "node:events"
import { createConnection, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { gate } from "../checkpoints/testing/claimed-runs.js"
import { Connection } from "./connection.js"

const line = (n: number) =>
  `${JSON.stringify({ type: "event", run_id: "r", claim_id: "c", event: "custom", payload: ["data"] })}\n${n}\n`

test("a worker stops sending while the server does not read, and no frame is lost", async () => {
  const server = createServer().listen(join(temporaryFolder(), "s"))
  await once(server, "listening")
  const worker = createConnection(String(server.address()))
  const [socket] = (await once(server, "connection")) as [Socket]
  const got: number[] = []
  const caughtUp = gate()
  const connection: Connection = new Connection(socket, {
    onFrame: (_frame, [data]) => {
      if (got.length === 0) connection.pauseUntil(caughtUp.opened)
      got.push(Number(data))
    },
    onClose: () => undefined,
  })

  let sent = 0
  worker.write(line(sent++))
  await until(() => connection.isPaused, { what: "the pause" })
  while (worker.write(line(sent++)));
  const before = got.length
  caughtUp.open()
  await until(() => got.length === sent, { what: "the rest" })

  assert.ok(before < sent, "nothing was held back")
  assert.equal(connection.isPaused, false)
  const all = Array.from(got, (_, n) => n)
  assert.deepEqual(got, all)
  connection.close("the test is over")
  worker.destroy()
  server.close()
})
