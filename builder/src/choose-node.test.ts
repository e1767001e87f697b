import assert from "node:assert/strict"
import test from "node:test"
import { chooseNode, type NodeProgram, requestedNode } from "./choose-node.js"
import { BuildFailed } from "./faults/build-failed.js"
import { parseRange } from "./node-range.js"
import type { FolderFacts, ProjectFacts } from "./project/project-facts.js"

const own: NodeProgram = { path: "/own/node", version: "v22.5.0" }
const nodes = (...versions: string[]): NodeProgram[] => versions.map((version) => ({ path: `/${version}`, version }))
const folder = (enginesNode: string | undefined): FolderFacts => ({
  path: "",
  lockFiles: [],
  package: { packageManager: undefined, enginesNode, hasBuildScript: false, hasWorkspaces: false, superstep: {} },
})
const javascript = { hasJavascript: true, python: undefined, env: {}, envFile: undefined }
const project = (nodeMajor: number | undefined, ...engines: string[]): ProjectFacts => ({
  config: { ...javascript, graphs: { chat: "./chat.ts" }, nodeMajor },
  folders: [folder(undefined), ...engines.map(folder)],
})
const choose = (facts: ProjectFacts, found: readonly NodeProgram[] = []) => chooseNode(requestedNode(facts), own, found)
const refusal = (words: RegExp) => (error: unknown) =>
  error instanceof BuildFailed && error.code === "node_version_unsupported" && words.test(error.message)

test("the newest major version that the project allows is used, with its reason in the log", () => {
  const found = nodes("v22.9.0", "v24.1.0", "v24.21.0")

  for (const facts of [project(undefined), project(undefined, ">=20"), project(undefined, "lts/*")])
    assert.equal(choose(facts, found).node.version, "v24.21.0")
  assert.equal(choose(project(undefined), found).note, "Node v24.21.0 is used")
  assert.equal(
    choose(project(undefined)).note,
    "Node v22.5.0 is used. Node 24 streams more tokens a second",
    "none is installed",
  )
})

test("of one major version our own Node is used", () => {
  for (const facts of [project(22), project(22, "^24"), project(undefined, "^20", "22.x")]) {
    const { node, note } = choose(facts, nodes("v22.9.0", "v24.1.0"))

    assert.equal(node, own)
    assert.match(note ?? "", /^"(node_version|engines)" .*: v22\.5\.0 is used\. Node 24 streams more tokens a second$/)
  }
})

test("a Node that Superstep is not tested with is used only if it is requested, or ours", () => {
  const [newer, ours] = [nodes("v24.1.0", "v26.0.0"), { path: "/own/node", version: "v26.1.0" }]

  assert.equal(choose(project(undefined, ">=22"), newer).node.version, "v24.1.0")
  assert.equal(choose(project(26), newer).node.version, "v26.0.0")
  assert.deepEqual(chooseNode(undefined, ours, newer), { node: ours, note: undefined })
})

test("a requested Node is the newest one of its major version", () => {
  const choice = choose(project(24), nodes("v20.19.5", "v24.1.0", "v24.21.0", "v25.0.0"))

  assert.equal(choice?.node.version, "v24.21.0")
  assert.equal(choice?.note, '"node_version" requests Node 24: v24.21.0 is used')
  assert.equal(choose(project(undefined, "20.x || 26"), nodes("v20.19.5"))?.node.version, "v20.19.5")
})

test("a newer Node is used if the requested one is missing, but never for a version that Superstep does not support", () => {
  assert.match(
    choose(project(20))?.note ?? "",
    /requests Node 20, which is not installed on this machine: v22\.5\.0 is used/,
  )
  assert.equal(choose(project(20), nodes("v24.1.0"))?.node.version, "v24.1.0")
  assert.equal(choose(project(undefined, "<=20.11"), nodes("v20.11.0"))?.node, own)
})

test("an older Node is never used instead of a newer one", () => {
  assert.throws(() => choose(project(24), nodes("v20.19.5")), refusal(/this machine has v22\.5\.0, v20\.19\.5/))
  assert.throws(() => choose(project(undefined, "^24.1")), refusal(/"engines" of package\.json requests Node \^24\.1/))
  assert.throws(() => choose(project(18)), refusal(/the oldest supported version is 20/))
})

const ranges: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [">=20.19", ["v20.19.0", "v24.0.0"], ["v20.18.9"]],
  [">= 20 < 23", ["v20.0.0", "v22.99.0"], ["v23.0.0", "v19.0.0"]],
  ["^20.19.0 || >=22.12", ["v20.20.2", "v22.12.0"], ["v21.0.0", "v22.11.0"]],
  ["~22.4", ["v22.4.9"], ["v22.5.0"]],
  ["~22", ["v22.9.0"], ["v23.0.0"]],
  ["22", ["v22.9.0"], ["v23.0.0", "v21.9.0"]],
  ["22.x", ["v22.9.0"], ["v23.0.0"]],
  ["18 - 20", ["v18.0.0", "v20.20.2"], ["v21.0.0"]],
  [">20", ["v21.0.0"], ["v20.20.2"]],
  ["*", ["v1.0.0"], []],
  ["", ["v20.0.0"], []],
]
for (const [text, inside, outside] of ranges)
  test(`the range "${text}" is read as package managers read it`, () => {
    const range = parseRange(text)
    const included = [...inside, ...outside].filter((version) => range?.includes(version))
    assert.deepEqual(included, inside)
  })
