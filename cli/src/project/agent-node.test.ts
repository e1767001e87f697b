import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { olderNode } from "../command-line/older-node.js"
import { homeAt } from "../home/home.js"
import { agentNode } from "./agent-node.js"
import { readProject } from "./project.js"

/** A project that requests a Node, and a computer that has v99.1.0: a program that reports this version. */
async function place(request: object, manifest: object = {}) {
  const folder = temporaryFolder()
  const nodes = join(folder, "nodes")
  mkdirSync(join(nodes, "v99.1.0", "bin"), { recursive: true })
  writeFileSync(join(nodes, "v99.1.0", "bin", "node"), "#!/bin/sh\necho v99.1.0\n", { mode: 0o755 })
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { chat: "./chat.mjs:graph" }, ...request }))
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
  const project = await readProject(join(folder, "langgraph.json"))
  const choose = (environment: Record<string, string> = { SUPERSTEP_NODE_DIRS: nodes }) =>
    agentNode(project, { home: homeAt(join(folder, ".superstep")), environment })
  return { folder, nodes, choose }
}

test("an agent server runs on the Node that its project requests, where the computer or its data folder has it", async () => {
  const [config, engines, fetched] = await Promise.all([
    place({ node_version: "99" }),
    place({}, { engines: { node: ">=98" } }),
    place({ node_version: 99 }),
  ])
  const toolchain = join(fetched.folder, ".superstep", "toolchain", "v99.1.0", "bin")
  mkdirSync(toolchain, { recursive: true })
  writeFileSync(join(toolchain, "node"), "#!/bin/sh\necho v99.1.0\n", { mode: 0o755 })

  for (const { node, note } of [await config.choose(), await engines.choose(), await fetched.choose({})]) {
    assert.equal(node.version, "v99.1.0")
    assert.equal(note, `v99.1.0 (${node.path})`)
  }
})

test("it stays on our own Node without a request for an untested one, and where no other fits", async () => {
  const untested = await (await place({})).choose()
  const absent = await (await place({ node_version: "98" }, {})).choose({})

  for (const { node, note } of [untested, absent]) {
    assert.equal(node.path, process.execPath)
    assert.equal(note, olderNode(process.versions.node))
  }
})

test("it stays on our own Node where a package was compiled for that, and says what to do", async () => {
  for (const name of ["fast-hash", "@scope/fast-hash", ".pnpm/fast-hash@1.0.0/node_modules/fast-hash"]) {
    const there = await place({ node_version: "99" })
    mkdirSync(join(there.folder, "node_modules", name, "build", "Release"), { recursive: true })

    const { node, note } = await there.choose()

    assert.equal(node.path, process.execPath)
    assert.match(note ?? "", /fast-hash was compiled for it: start Superstep with v99\.1\.0, and install the packages/)
  }
})
