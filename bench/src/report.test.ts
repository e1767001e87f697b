import assert from "node:assert/strict"
import test from "node:test"
import { readOptions } from "./options.js"
import { type Measured, renderTable, summarise } from "./report.js"
import type { Scenario } from "./scenarios.js"
import { median, percentile } from "./statistics.js"

test("a percentile is a sample, by the nearest rank", () => {
  const samples = [5, 1, 4, 2, 3]

  assert.equal(percentile(samples, 0.5), 3)
  assert.equal(percentile(samples, 0.99), 5)
  assert.equal(percentile([7], 0.5), 7)
  assert.equal(median([1, 100, 2]), 2)
  assert.ok(Number.isNaN(percentile([], 0.5)))
})

const scenario: Scenario = {
  name: "echo",
  metrics: [{ key: "ms", label: "last event", unit: "ms" }],
  warmUps: 0,
  requests: 3,
  run: async () => ({ ms: 0 }),
}

const measured = (system: string, rounds: number[][]): Measured => ({
  scenario,
  system,
  rounds: rounds.map((samples) => samples.map((ms) => ({ ms }))),
})

test("figures are medians over rounds and ratios are to the first system", () => {
  const rows = summarise([
    measured("floor", [
      [1, 1, 9],
      [2, 2, 2],
      [50, 50, 50],
    ]),
    measured("server", [[6, 6, 6]]),
  ])

  assert.deepEqual(rows[0]?.figures, [
    { metric: "last event", unit: "ms", statistic: "p50", value: 2, ratio: 1 },
    { metric: "last event", unit: "ms", statistic: "p99", value: 9, ratio: 1 },
  ])
  assert.deepEqual(
    rows[1]?.figures.map(({ value, ratio }) => [value, ratio]),
    [
      [6, 3],
      [6, 6 / 9],
    ],
  )
})

test("the table has a line for each system with its ratio", () => {
  const options = readOptions([])
  assert.ok(options !== "help")

  const table = renderTable(summarise([measured("floor", [[2]]), measured("server", [[5]])]), options)

  assert.match(table, /^echo +last event p50 p99$/m)
  assert.match(table, /^server +5\.00 5\.00 ms +2\.50×$/m)
})

test("an option that makes no sense is named", () => {
  assert.throws(() => readOptions(["--repeats", "0"]), /--repeats wants a whole number above 0, not "0"/)
  assert.throws(() => readOptions(["--fast"]), /--fast/)
  assert.equal(readOptions(["--help"]), "help")
})
