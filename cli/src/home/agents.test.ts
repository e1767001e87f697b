/** What a control plane leaves that was killed, on a real API server. */
import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { pathsIn } from "@superstep/machines/kubernetes/cluster/objects"
import { ownedObjects } from "@superstep/machines/kubernetes/cluster/owned-objects"
import { buildsPlace } from "@superstep/machines/kubernetes/testing/builds-place"
import { noCluster as skip, type TestCluster, testCluster } from "@superstep/machines/kubernetes/testing/place"
import { writeMachineNote } from "@superstep/machines/port/machine-note"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { agentsOf } from "./agents.js"
import { homeAt } from "./home.js"

let tested: TestCluster

before(async () => {
  if (!skip) tested = await testCluster()
})
after(async () => {
  if (!skip) await tested.stop()
})

/** A data folder that was used with a cluster, in which a build is under way. */
async function homeWithBuild({ isShared }: { readonly isShared: boolean }) {
  const { open, homeId, namespace } = await buildsPlace(tested)
  const home = homeAt(temporaryFolder())
  mkdirSync(join(home.folder, "units"))
  writeFileSync(join(home.folder, "id"), isShared ? newId() : homeId)
  await writeMachineNote(home.folder, {
    machine: "kubernetes",
    engineSocket: "",
    kubeconfig: tested.kubeconfig,
    agentsNamespace: namespace,
    ...(isShared && { installationId: homeId }),
  })
  const { builds } = await open()
  const [revisionId, deploymentId] = [newId(), newId()]
  const tree = await builds.prepare(revisionId)
  mkdirSync(tree, { recursive: true })
  writeFileSync(join(tree, "langgraph.json"), JSON.stringify({ graphs: { chat: "./chat.mjs:graph" } }))
  writeFileSync(join(tree, "package.json"), JSON.stringify({ name: "app", type: "module" }))
  writeFileSync(join(tree, "chat.mjs"), "export const graph = {}\n")
  const source = { revisionId, deploymentId, deploymentNumber: 77, treeHash: "a", configPath: "langgraph.json" }
  await builds.start({ ...source, installCommand: "echo begun && sleep 600", buildCommand: null }, {})
  const hasBegun = async () => (await builds.logs(revisionId, 0)).lines.some(({ message }) => message === "begun")
  await until(hasBegun, { what: "the build runs", timeoutMs: 60_000 })

  const owned = ownedObjects(tested.admin, homeId)
  const { jobs, pods } = pathsIn(namespace)
  const left = async () => (await Promise.all([jobs, pods].map((path) => owned.list(path)))).map(({ length }) => length)
  return { agents: agentsOf(home, {}), left }
}

test("a build that a killed control plane has left in the cluster is ended", { skip }, async () => {
  const { agents, left } = await homeWithBuild({ isShared: false })
  const before = await left()

  await agents.stop({ graceMs: 0, mayHaveOthers: true })

  assert.deepEqual(before, [1, 1])
  assert.deepEqual(await left(), [0, 0])
})

test("in a place that computers share it is left to another control plane, if there may be one", { skip }, async () => {
  const { agents, left } = await homeWithBuild({ isShared: true })

  await agents.stop({ graceMs: 0, mayHaveOthers: true })
  const leftToOthers = await left()
  await agents.stop({ graceMs: 0, mayHaveOthers: false })

  assert.deepEqual(leftToOthers, [1, 1])
  assert.deepEqual(await left(), [0, 0])
})
