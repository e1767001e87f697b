import assert from "node:assert/strict"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { test } from "node:test"
import { assertPortFree, PortInUse } from "./ports.js"

test("a port in use is an error with the option for another", async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo

  const taken = assertPortFree({ host: "127.0.0.1", port, option: "--agents-port" })

  await assert.rejects(taken, new PortInUse(`port ${port} is in use: choose another with --agents-port`))
  await new Promise((resolve) => server.close(resolve))
  await assertPortFree({ host: "127.0.0.1", port, option: "--port" })
})

test("an address of another machine is an error", async () => {
  await assert.rejects(
    assertPortFree({ host: "192.0.2.1", port: 8900, option: "--port" }),
    /not an address of this machine/,
  )
})
