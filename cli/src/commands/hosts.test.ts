import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { type Asked, fakePlatform } from "../testing/fake-platform.js"

const hostName = { name: "agent.example.com", url: "https://agent.example.com", status: "active", failure: null }

function reply({ method, path }: Asked) {
  if (path === "/v2/deployments") return { resources: [{ id: "d1", name: "chat" }] }
  if (method === "DELETE") return undefined
  return method === "GET" ? { resources: [hostName] } : hostName
}

test("host names are added with the key of the installation, listed and removed", async () => {
  await using it = await fakePlatform(reply)

  const added = await it.run("hosts", "add", "chat", "Agent.example.com")
  const listed = await it.run("hosts", "list", "chat")
  const removed = await it.run("hosts", "remove", "chat", "agent.example.com", "--json")

  assert.equal(added.stdout, "agent.example.com is active: https://agent.example.com\n")
  assert.match(listed.stdout, /^agent\.example\.com +active +https:\/\/agent\.example\.com$/m)
  assert.deepEqual(JSON.parse(removed.stdout), { name: "agent.example.com", removed: true })
  const path = "/v2/deployments/d1/host-names"
  const asked = it.asked.filter(({ path }) => path !== "/v2/deployments")
  assert.deepEqual(fieldsOf(asked, "method", "path", "key", "body"), [
    ["POST", path, "of-all", { name: "Agent.example.com" }],
    ["GET", path, "of-w1", undefined],
    ["DELETE", `${path}/agent.example.com`, "of-w1", undefined],
  ])
})
