/** Requests that are routed by their host name. */
import assert from "node:assert/strict"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { admit } from "./admission.js"
import { indexTable, readTable } from "./table.js"
import { hostOf, targetAtHost } from "./target.js"
import { exchange, key, route, startEdge, startUnit, withKey } from "./testing/harness.js"

const named = (...names: string[]) => ({ host_names: names.map((name) => ({ name })) })

test("the host of a request is compared without case, port and the dot at the end", () => {
  for (const header of ["agent.example.com", "AGENT.example.com:8443", "agent.example.com.", "agent.example.com.:1"]) {
    assert.equal(hostOf("/x", header), "agent.example.com", header)
  }
  // The target in absolute form counts.
  assert.equal(hostOf("http://Agent.example.com:80/x", "other.example.com"), "agent.example.com")
  assert.equal(hostOf("http://other.example.com@agent.example.com/x", ""), "agent.example.com")
  assert.equal(hostOf("/x"), "")
})

test("at a host name the path is the agent's, whatever it is", () => {
  const pathOf = (url: string) => targetAtHost(url, "chat")?.path

  assert.deepEqual(targetAtHost("/threads/1?limit=2", "chat"), { name: "chat", prefix: "", path: "/threads/1?limit=2" })
  assert.equal(pathOf("/d/other/threads"), "/d/other/threads")
  assert.equal(pathOf("//elsewhere/x"), "/elsewhere/x")
  assert.equal(pathOf("http://agent.example.com"), "/")
  assert.equal(pathOf("http://agent.example.com?a=1"), "/?a=1")
  assert.equal(pathOf("*"), undefined)
})

test("a host name has one route, and the checks of the route apply there", () => {
  const routes = [route("chat", [], named("agent.example.com")), route("other", [])]
  const table = indexTable({ generation: 1, routes })
  const ask = (url: string, host: string[], headers = {}) => {
    const admission = admit({ method: "GET", url, headers: { host, "x-api-key": [key], ...headers } }, table, 100)
    return "refusal" in admission ? admission.refusal.status : `${admission.route.name} ${admission.target.path}`
  }

  assert.equal(ask("/threads", ["agent.example.com"]), "chat /threads")
  assert.equal(ask("/d/other/threads", ["agent.example.com"]), "chat /d/other/threads")
  assert.equal(ask("/d/other/threads", ["elsewhere.example.com"]), "other /threads")
  assert.equal(ask("/threads", ["elsewhere.example.com"]), 404)
  assert.equal(ask("/threads", ["agent.example.com", "elsewhere.example.com"]), 400)
  assert.equal(ask("/threads", ["agent.example.com"], { "x-api-key": ["wrong"] }), 401)
  assert.equal(ask("/internal/activate", ["agent.example.com"]), 404)
  assert.equal(ask("/a/../internal/activate", ["agent.example.com"]), 400)
  assert.deepEqual(readTable({ generation: 1, routes: [...routes, route("third", [], named("agent.example.com"))] }), {
    problem: { path: ["routes", "2"], message: "the host name agent.example.com belongs to two routes" },
  })
})

test("an agent at its host name gets the path as it was sent, and no prefix", async () => {
  const folder = temporaryFolder()
  await using unit = await startUnit(folder, "u1", ({ url, headers }, response) => {
    const seen = { url, host: headers["x-forwarded-host"], prefix: headers["x-forwarded-prefix"] }
    response.end(JSON.stringify(seen))
  })
  await using edge = await startEdge(folder)
  await edge.take({ generation: 1, routes: [route("chat", [unit.unit], named("agent.example.com"))] })
  const ask = (path: string, host: string) => exchange({ port: edge.port, path, headers: { ...withKey, host } })

  const atHost = await ask("/threads/x?a=%2F", "Agent.Example.com:8901")
  const atPrefix = await ask("/d/chat/threads", "elsewhere.example.com")
  const nowhere = await ask("/threads", "elsewhere.example.com")

  assert.deepEqual(JSON.parse(atHost.body), { url: "/threads/x?a=%2F", host: "Agent.Example.com:8901" })
  assert.deepEqual(JSON.parse(atPrefix.body), { url: "/threads", host: "elsewhere.example.com", prefix: "/d/chat" })
  assert.equal(nowhere.status, 404)
})
