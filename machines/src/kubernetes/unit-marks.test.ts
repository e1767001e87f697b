import assert from "node:assert/strict"
import test from "node:test"
import { realClock } from "@superstep/toolkit/time/clock"
import { type KubernetesObject, nameOf, type Pod, startedPod } from "./cluster/objects.js"
import { unitMarks } from "./unit-marks.js"

const podOf = (resourceVersion: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: nameOf("u1"), resourceVersion },
  spec: { containers: [] },
})
const secretWith = (podUid: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: nameOf("u1"), annotations: { [startedPod]: podUid } },
})

/** @param answers  of the API server, one for each question */
function marksOf(answers: (KubernetesObject | undefined | Error | Promise<KubernetesObject>)[]) {
  let nowMs = 0
  const find = async () => {
    const answer = await answers.shift()
    if (answer instanceof Error) throw answer
    return answer as never
  }
  const clock = { now: () => nowMs, after: realClock.after }
  const marks = unitMarks({ find, annotate: async () => undefined }, "/secrets", clock)
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { marks, left: () => answers.length, pass }
}

test("a Secret is asked for once for each state of its unit's pod, and again after a while", async () => {
  const { marks, left, pass } = marksOf([secretWith("a"), undefined, secretWith("b")])

  assert.equal(await marks.find("u1", podOf("1")), "a")
  assert.equal(await marks.find("u1", podOf("1")), "a")
  assert.equal(left(), 2)
  assert.equal(await marks.find("u1", undefined), undefined)
  assert.equal(await marks.find("u1", undefined), undefined)
  assert.equal(left(), 1)
  pass(30_000)

  assert.equal(await marks.find("u1", undefined), "b")
})

test("what was asked before a write is not what is known after it", async () => {
  let answer: (secret: KubernetesObject) => void = () => undefined
  const { marks } = marksOf([new Promise<KubernetesObject>((resolve) => (answer = resolve)), secretWith("new")])

  const before = marks.find("u1", podOf("1"))
  await marks.write("u1", "new")
  answer(secretWith("old"))

  assert.equal(await before, "old")
  assert.equal(await marks.find("u1", podOf("1")), "new")
})

test("a question that failed is asked again", async () => {
  const { marks } = marksOf([new Error("away"), secretWith("a")])

  await assert.rejects(marks.find("u1", podOf("1")), /away/)

  assert.equal(await marks.find("u1", podOf("1")), "a")
})
