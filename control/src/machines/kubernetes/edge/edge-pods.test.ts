import assert from "node:assert/strict"
import test from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { type Cluster, ClusterFailed } from "../cluster.js"
import type { Pod } from "../objects.js"
import { edgeOf, edgePods } from "./edge-pods.js"

const pod = (status: Pod["status"], metadata: Partial<Pod["metadata"]> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "edge-1", ...metadata },
  spec: { containers: [] },
  ...(status && { status }),
})
const ready = [{ type: "Ready", status: "True" }]

test("a pod gets callers while it is ready and not being deleted, and is no edge without an address", () => {
  const running = { phase: "Running", podIP: "10.0.0.7" } as const
  const address = "http://10.0.0.7:8903"

  assert.deepEqual(edgeOf(pod({ ...running, conditions: ready }), 8903), { address, isReady: true })
  assert.deepEqual(edgeOf(pod(running), 8903), { address, isReady: false })
  const deleted = pod({ ...running, conditions: ready }, { deletionTimestamp: "2026-11-25T00:00:00Z" })
  assert.deepEqual(edgeOf(deleted, 8903), { address, isReady: false })
  assert.equal(edgeOf(pod({ ...running, podIP: "fd00::7", conditions: ready }), 8903)?.address, "http://[fd00::7]:8903")
  assert.equal(edgeOf(pod({ phase: "Pending" }), 8903), undefined)
  assert.equal(edgeOf(pod({ ...running, phase: "Failed" }), 8903), undefined)
})

test("while the API server is away the edges are those that it listed last; a refusal is an error", async () => {
  const answers: (readonly Pod[] | Error)[] = [
    new ClusterFailed("away"),
    [pod({ phase: "Running", podIP: "10.0.0.7", conditions: ready })],
    new ClusterFailed("away"),
    new ClusterFailed("forbidden", 403),
  ]
  const patience: (number | undefined)[] = []
  const json: Cluster["json"] = async (_, { answerMs } = {}) => {
    patience.push(answerMs)
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return { status: 200, body: { items: answer } as never }
  }
  const cluster = { origin: "https://10.96.0.1", json } as Cluster
  const log = createLog({ process: "test", level: "silent" })
  const find = edgePods({ cluster, namespace: "superstep", selector: "a=b", adminPort: 8903, log })

  await assert.rejects(find(), /away/)
  const found = await find()
  assert.equal(found.length, 1)
  assert.deepEqual(await find(), found)
  await assert.rejects(find(), /forbidden/)
  assert.deepEqual(patience, [undefined, undefined, 2000, 2000], "it waits less only where it has a list already")
})
