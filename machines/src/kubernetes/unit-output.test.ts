import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import test from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type Cluster, ClusterFailed } from "./cluster/cluster.js"
import { containerName, nameOf, type Pod } from "./cluster/objects.js"
import { unitOutput } from "./unit-output.js"

const unitId = "u1"

const podWith = (uid: string, second: number): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: nameOf(unitId), uid, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
  spec: { containers: [{ name: containerName }] },
  status: { phase: "Running" },
})

/** @param answer  the log that the cluster gives, by the name of a pod */
function outputOf(findPod: () => Pod | undefined, answer: () => Readable) {
  const folder = temporaryFolder()
  const said: string[] = []
  const cluster: Pick<Cluster, "stream"> = { stream: async () => answer() as IncomingMessage }
  const log = createLog({ process: "test", level: "warn" }, { write: (line) => said.push(line) })
  const output = unitOutput({
    cluster: cluster as Cluster,
    pods: "/pods",
    folderOf: () => folder,
    findPod: async () => findPod(),
    askForPod: async () => findPod(),
    log,
  })
  return { output, said }
}

const line = (second: number, text: string) => `2026-01-01T00:00:0${second}.000000000Z ${text}\n`

test("lines of a pod that took the name of another one meanwhile are not stored as those of the former", async () => {
  let present = podWith("first", 0)
  const { output } = outputOf(
    () => present,
    () => {
      present = podWith("second", 2)
      return Readable.from([Buffer.from(line(3, "of the second"))])
    },
  )

  const first = await output.logs(unitId, "")
  const second = await output.logs(unitId, first.next)

  assert.deepEqual(first, { lines: [], next: "" })
  assert.deepEqual(second.lines, ["of the second"])
  assert.match(second.next, /"lifeId":"2026-01-01T00:00:02Z_second"/)
})

test("when the last output of a pod cannot be kept whole, the log says so", async () => {
  const keepWith = async (answer: () => Readable) => {
    let present: Pod | undefined = podWith("first", 0)
    const { output, said } = outputOf(() => present, answer)
    await output.keepWhile(unitId, async () => {
      present = undefined
    })
    const { lines } = await output.logs(unitId, "")
    return { lines, said: said.map((it) => JSON.parse(it).msg) }
  }
  async function* breakingOff() {
    yield Buffer.from(line(1, "one"))
    throw new Error("the node is lost")
  }

  const broken = await keepWith(() => Readable.from(breakingOff()))
  const none = await keepWith(() => {
    throw new ClusterFailed("silent for 5000 ms")
  })
  const whole = await keepWith(() => Readable.from([Buffer.from(line(1, "one"))]))

  assert.deepEqual(broken.lines, ["one"])
  assert.match(broken.said.join(), /^the log of a pod broke off/)
  assert.deepEqual(none.lines, [])
  assert.match(none.said.join(), /^the log of a pod cannot be read/)
  assert.deepEqual(whole, { lines: ["one"], said: [] })
})
