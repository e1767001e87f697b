import assert from "node:assert/strict"
import { test } from "node:test"
import { olderNode } from "./older-node.js"

test("an older Node works, and Node 24 is recommended", () => {
  assert.match(
    olderNode("20.20.2") ?? "",
    /^Node 20\.20\.2 works; Node 24 is recommended: Node 20 gets no more security fixes/,
  )
  assert.equal(olderNode("22.23.3"), "Node 22.23.3 works; Node 24 is recommended")
  assert.equal(
    olderNode("20.20.2", "24.21.0"),
    "Node 20.20.2 works; Node 24 is recommended: Node 20 gets no more security fixes. Agents are built for Node 24.21.0",
  )
  assert.equal(olderNode("24.9.0"), undefined)
  assert.equal(olderNode("25.0.0"), undefined)
})
