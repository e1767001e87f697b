import assert from "node:assert/strict"
import { test } from "node:test"
import type { DrawnGraph } from "../assistants/agent-graph.js"
import { layoutOf, type PlacedNode } from "./graph-layout.js"

const approval: DrawnGraph = {
  nodes: ["__start__", "agent", "tools", "refund:check", "refund:ask", "refund:__end__", "__end__"].map((id) => ({
    id,
  })),
  edges: [
    { source: "__start__", target: "agent" },
    { source: "agent", target: "tools", conditional: true },
    { source: "agent", target: "refund:check", conditional: true, data: "refund" },
    { source: "agent", target: "__end__", conditional: true, data: "__end__" },
    { source: "refund:check", target: "refund:ask" },
    { source: "refund:ask", target: "refund:__end__" },
    { source: "refund:__end__", target: "agent" },
    { source: "tools", target: "agent" },
  ],
}

const overlap = (a: PlacedNode, b: PlacedNode): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

test("nodes do not overlap, and a nested graph is a box around its nodes", () => {
  const { nodes, width, height } = layoutOf(approval)
  const leaves = nodes.filter(({ kind }) => kind !== "box")
  const box = nodes.find(({ id }) => id === "refund")

  assert.ok(box)
  assert.equal(box.kind, "box")
  const overlapping = leaves.flatMap((a, i) => leaves.slice(i + 1).filter((b) => overlap(a, b)))
  assert.deepEqual(overlapping, [])
  for (const { parent, x, y, width, height } of leaves.filter(({ parent }) => parent === "refund"))
    assert.ok(x >= box.x && y >= box.y && x + width <= box.x + box.width && y + height <= box.y + box.height, parent)
  for (const node of leaves.filter(({ parent }) => parent === undefined)) assert.ok(!overlap(node, box), node.id)
  for (const { x, y, width: w, height: h } of nodes) assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= height)
})

test("every edge has a way, and a condition has the name of its outcome unless that is the target's", () => {
  const { edges } = layoutOf(approval)

  assert.equal(edges.length, approval.edges.length)
  for (const { id, points } of edges) assert.ok(points.length >= 2, id)
  const conditions = edges.filter(({ isConditional }) => isConditional).map(({ target, label }) => `${target} ${label}`)
  assert.deepEqual(conditions, ["tools undefined", "refund:check refund", "__end__ undefined"])
})

test("a graph with deep nesting, numbers as ids and an edge to nowhere is drawn", () => {
  const { nodes, edges } = layoutOf({
    nodes: [{ id: 1 }, { id: "a:b:c" }, { id: "a:d" }],
    edges: [
      { source: 1, target: "a:b:c" },
      { source: 1, target: "gone" },
    ],
  })

  const placed = nodes.map(({ id, kind, parent = "the graph" }) => `${kind} ${id} in ${parent}`)
  assert.deepEqual(placed, [
    "box a in the graph",
    "node 1 in the graph",
    "box a:b in a",
    "node a:d in a",
    "node a:b:c in a:b",
  ])
  const targets = edges.map(({ target }) => target)
  assert.deepEqual(targets, ["a:b:c"])
})

test("an edge to the box of a nested graph ends at its first node, and one from it leaves its last node", () => {
  const { nodes, edges } = layoutOf({
    nodes: [{ id: "__start__" }, { id: "sub" }, { id: "sub:a" }, { id: "sub:b" }, { id: "end" }],
    edges: [
      { source: "__start__", target: "sub" },
      { source: "sub:a", target: "sub:b" },
      { source: "sub", target: "end" },
      { source: "sub", target: "sub" },
    ],
  })

  const shown = edges.map(({ source, target }) => `${source} ${target}`)
  assert.deepEqual(shown, ["__start__ sub:a", "sub:a sub:b", "sub:b end", "sub:b sub:a"])
  const kinds = nodes.filter(({ id }) => id === "sub").map(({ kind }) => kind)
  assert.deepEqual(kinds, ["box"])
})

test("an empty graph has an empty drawing", () => {
  assert.deepEqual(layoutOf({ nodes: [], edges: [] }).nodes, [])
})
