import assert from "node:assert/strict"
import { test } from "node:test"
import { ownOrigins } from "./own-origins.js"

const place = { host: "127.0.0.1", port: 8900, hasTls: false, machineNames: ["box", "10.0.0.5", "fe80::1"] }
const loopback = ["http://localhost:8900", "http://127.0.0.1:8900", "http://[::1]:8900"]

test("the console's origins are the public one, loopback names, and the machine's names where they are reachable and can be in an address; with a certificate pages use HTTPS, and plain HTTP is only for this machine", () => {
  assert.deepEqual(ownOrigins(place), loopback)
  assert.deepEqual(ownOrigins({ ...place, publicUrl: "https://console.example.com/" }), [
    "https://console.example.com",
    ...loopback,
  ])
  assert.deepEqual(ownOrigins({ ...place, host: "0.0.0.0" }), [
    "http://box:8900",
    "http://10.0.0.5:8900",
    "http://[fe80::1]:8900",
    ...loopback,
  ])
  assert.deepEqual(ownOrigins({ ...place, host: "10.0.0.5" }), ["http://10.0.0.5:8900", ...loopback])

  assert.deepEqual(ownOrigins({ ...place, host: "::", machineNames: ["my box"] }), loopback)

  const origins = ownOrigins({ ...place, host: "10.0.0.5", hasTls: true })

  assert.deepEqual(origins[0], "https://10.0.0.5:8900")
  assert.ok(origins.includes("http://localhost:8900") && origins.includes("https://localhost:8900"))
  assert.equal(origins.includes("http://10.0.0.5:8900"), false)
})
