import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "../testing/until.js"
import { type Repeated, repeated } from "./repeated.js"

const hourMs = 3_600_000

test("work is brought forward by a wake-up and by a time, also from within itself, and never twice at once", async () => {
  let [runs, underWay, most] = [0, 0, 0]
  let isHurried = false
  const work = async () => {
    runs++
    most = Math.max(most, ++underWay)
    if (isHurried) repeats.wakeWithin(1)
    await new Promise((resolve) => setImmediate(resolve))
    underWay--
  }
  const repeats: Repeated = repeated(work, hourMs)

  repeats.wake()
  await until(() => runs === 1 && underWay === 0, { what: "the first run" })
  repeats.wakeWithin(2 * hourMs)
  repeats.wakeWithin(1)
  await until(() => runs === 2 && underWay === 0, { what: "the run within a time" })
  isHurried = true
  for (let calls = 0; calls < 10; calls++) repeats.wake()
  await until(() => runs > 8, { what: "runs that ask for the next one" })
  await repeats.stop()
  const ended = runs
  repeats.wake()
  repeats.wakeWithin(0)

  assert.equal(most, 1)
  assert.equal(runs, ended)
})
