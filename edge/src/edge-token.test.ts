import assert from "node:assert/strict"
import test from "node:test"
import { connectOptions } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { pushTable, retireEdge, startSuccessor } from "./client.js"
import { showsToken, tokenHeader } from "./edge-token.js"
import { edgeWithUnit, exchange, withKey } from "./testing/harness.js"

test("a request is recognized by its token", () => {
  const token = new Secret("x".repeat(32))

  assert.ok(showsToken(tokenHeader(token).authorization, token))
  for (const shown of [undefined, "", "Bearer", `Bearer ${"x".repeat(31)}`, "x".repeat(32), `Bearer ${"x".repeat(33)}`])
    assert.ok(!showsToken(shown, token), shown)
})

test("an edge refuses requests without its token", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("still here"))
  const { address } = setup.edge.admin
  const stranger = { address, token: new Secret("somebody else's token, also long enough") }

  await assert.rejects(pushTable(stranger, { generation: 9, routes: [] }), Unavailable)
  await assert.rejects(startSuccessor(stranger), Unavailable)
  await assert.rejects(retireEdge(stranger), Unavailable)
  const routes = ["PUT /table", "GET /status", "POST /successor", "POST /retire", "GET /openapi.json", "GET /"]
  for (const [method = "", path = ""] of routes.map((it) => it.split(" ")))
    assert.equal((await exchange({ ...connectOptions(address), method, path })).status, 401, path)

  assert.equal(await (await fetch(`${setup.chat}/x`, { headers: withKey })).text(), "still here")
})
