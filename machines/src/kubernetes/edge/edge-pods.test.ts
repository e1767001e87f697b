import assert from "node:assert/strict"
import test from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { ClusterFailed } from "../cluster/cluster.js"
import type { Pod } from "../cluster/objects.js"
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

/** @param answers  of the watch, one for each list */
function finder(answers: (Pod[] | Promise<Pod[]> | Error)[]) {
  const list = async (): Promise<Pod[]> => {
    const answer = await answers.shift()
    if (answer instanceof Error) throw answer
    return answer ?? []
  }
  return edgePods({ pods: { list }, adminPort: 8903, log: createLog({ process: "test", level: "silent" }) })
}
const at = (podIP: string) => pod({ phase: "Running", podIP, conditions: ready })

test("while the API server is away the edges are those that it listed last; a refusal is an error", async () => {
  const away = new ClusterFailed("away")
  const find = finder([away, [at("10.0.0.7")], away, new ClusterFailed("forbidden", 403)])

  await assert.rejects(find(), /away/)
  const found = await find()
  assert.equal(found.length, 1)
  assert.deepEqual(await find(), found)
  await assert.rejects(find(), /forbidden/)
})

test("a list that comes late is used as soon as it is there, and no other is asked for meanwhile", async () => {
  let answer: (pods: Pod[]) => void = () => undefined
  const answers = [[at("10.0.0.7")], new Promise<Pod[]>((resolve) => (answer = resolve)), [at("10.0.0.9")]]
  const find = finder(answers)
  const first = await find()

  const meanwhile = await Promise.all([find(), find()])
  const leftThen = answers.length
  const waiting = find()
  answer([at("10.0.0.7"), at("10.0.0.8")])

  assert.deepEqual(meanwhile, [first, first])
  assert.equal(leftThen, 1)
  assert.equal((await waiting).length, 2)
  assert.deepEqual((await find())[0]?.address, "http://10.0.0.9:8903")
})
