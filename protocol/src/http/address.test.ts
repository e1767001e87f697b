import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, request } from "node:http"
import { type AddressInfo, isIPv6 } from "node:net"
import { text } from "node:stream/consumers"
import test from "node:test"
import { connectOptions, isAddress } from "./address.js"
import { keptConnections } from "./forward.js"

test("an address is a Unix socket's absolute path, or a host with a port and nothing more", () => {
  for (const address of [
    "unix:/run/a.sock",
    "http://10.0.0.7:8000",
    "http://[::1]:80",
    "http://unit-1.agents.svc:8000",
  ])
    assert.ok(isAddress(address), address)
  for (const text of ["unix:run/a.sock", "/run/a.sock", "https://a:1", "http://a", "http://a:1/", "http://u:p@a:1", ""])
    assert.ok(!isAddress(text), text)
})

test("a request to a host and port reaches it, and so do kept connections", async (t) => {
  const server = createServer((asked, response) => response.end(asked.url)).listen(0, "::1")
  await once(server, "listening")
  t.after(() => server.close())
  const { address: host, port } = server.address() as AddressInfo
  const address = `http://[${host}]:${port}` as const
  assert.ok(isIPv6(host))

  const asked = request({ ...connectOptions(address), path: "/one", agent: false }).end()
  const [answer] = await once(asked, "response")
  const pool = keptConnections(address, {})
  const kept = await pool.request({ path: "/two", method: "GET" })

  assert.equal(await text(answer), "/one")
  assert.equal(await kept.body.text(), "/two")
  await pool.close()
})
