import assert from "node:assert/strict"
import test from "node:test"
import { BenchFailed } from "../http-client.js"
import { readOptions, type SystemName } from "../options.js"
import { Cleanup } from "../processes.js"
import type { Scenario } from "../scenarios/scenario.js"
import { scenarios } from "../scenarios/scenarios.js"
import type { System } from "../systems/system.js"
import { type Measured, measure } from "./measure.js"
import { renderTable, summarise } from "./report.js"
import { targets } from "./targets.js"

const scenario: Scenario = {
  name: "echo",
  metrics: [
    { key: "ms", label: "first event p50", unit: "ms", better: "low" },
    { key: "ms", label: "first event p99", unit: "ms", better: "low", statistic: "p99" },
  ],
  systems: ["floor", "server", "edge", "peer"],
  warmUps: 0,
  requests: 3,
  run: async () => ({ ms: 0 }),
}

const measured = (system: SystemName, ...rounds: number[][]): Measured => ({
  scenario,
  system,
  rounds: rounds.map((samples) => samples.map((ms) => ({ ms }))),
  failure: undefined,
})

test("figures are medians over rounds; the server is compared with the floor and the peer, the edge with the server", () => {
  const [p50, p99] = summarise([
    measured("floor", [1, 1, 9], [2, 2, 2], [50, 50, 50]),
    measured("server", [4, 4, 30]),
    measured("edge", [6, 6, 30]),
    measured("peer", [40, 40, 40]),
  ])

  assert.deepEqual(p50?.values, { floor: 2, server: 4, edge: 6, peer: 40 })
  assert.deepEqual(p50?.ratios, { floor: 2, peer: 0.1, edge: 1.5 })
  assert.deepEqual(p50?.server, { atLeast: 4, aim: 3, unit: "×", reaches: "aim" })
  assert.deepEqual(p50?.edge, { atLeast: 1.2, aim: 1.1, unit: "×", reaches: "neither" })
  assert.equal(p50?.worst, 30)
  assert.equal(p99?.values.floor, 9)
  assert.equal(p99?.server?.reaches, "neither")
})

test("a system that fails in a later round has no figure, and the others keep theirs", async () => {
  await using cleanup = new Cleanup()
  const timeStart = async () => ({ okMs: 1, firstRunMs: 1 })
  const target = { address: { socketPath: "" }, prefix: "", headers: {} }
  const idle = { target, saysEnd: true, pids: [], timeStart }
  const systems = (["floor", "server"] as const).map((name): System => ({ name, ...idle }))
  let asked = 0
  const failing: Scenario = {
    ...scenario,
    requests: 1,
    run: async ({ name }) => {
      if (name === "server" && ++asked === 3) throw new BenchFailed("a wrong answer")
      return { ms: 1 }
    },
  }

  const results = await measure(failing, systems, { repeats: 4, cleanup, say: () => undefined })

  assert.deepEqual(
    results.map(({ failure, rounds }) => [failure, rounds.length]),
    [
      [undefined, 4],
      ["a wrong answer", 0],
    ],
  )
  assert.deepEqual(summarise(results)[0]?.values, { floor: 1 })
})

test("the table has one line per figure, and a dash where a system has none", () => {
  const options = readOptions(["--repeats", "2", "--peer"])
  assert.ok(options !== "help")
  const failed = { ...measured("peer"), failure: "not supported" }

  const table = renderTable(summarise([measured("floor", [2.5]), measured("server", [5]), failed]), options)

  assert.match(
    table,
    /^ +floor +server +proxy +edge +peer +server's worst +÷ floor +÷ peer +edge ÷ server +edge ÷ proxy +at least +aim +reaches$/m,
  )
  assert.match(table, /^ {2}first event p50 +2\.5 ms +5 ms +– +– +– +5 ms +2\.00× +4× +3× +aim$/m)
})

test("every target matches a figure", () => {
  const options = readOptions(["--idle"])
  assert.ok(options !== "help")
  const figures = scenarios(options).flatMap(({ name, metrics }) => metrics.map(({ label }) => ({ name, label })))

  const lost = targets.filter(
    ({ scenario, metric }) => !figures.some(({ name, label }) => name.startsWith(scenario) && label.startsWith(metric)),
  )

  assert.deepEqual(lost, [])
})

test("an error about an invalid option names it", () => {
  assert.throws(() => readOptions(["--repeats", "0"]), /--repeats 0: expected a whole number from 1/)
  assert.throws(() => readOptions(["--fast"]), /--fast/)
  assert.equal(readOptions(["--help"]), "help")
})
