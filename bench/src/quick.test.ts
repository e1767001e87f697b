/** `npm run bench -- --quick`: one scenario in `npm test`, all scenarios on all our systems in the long tests. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import test from "node:test"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import type { Row } from "./command/report.js"
import { pathTo } from "./paths.js"

interface Figures {
  readonly stdout: string
  readonly rows: readonly Row[]
  readonly failures: readonly string[]
}

async function quickBench(...options: string[]): Promise<Figures> {
  const jsonFile = join(temporaryFolder(), "figures.json")
  const argv = [pathTo("dist/command/main.js"), "--quick", "--json", jsonFile, ...options]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  return { stdout, ...(JSON.parse(await readFile(jsonFile, "utf8")) as Omit<Figures, "stdout">) }
}

const without = (system: "floor" | "server", rows: readonly Row[]) =>
  rows.filter(({ values }) => values[system] === undefined)

test("a scenario gives correct results and all its figures on the floor", async () => {
  const { stdout, rows, failures } = await quickBench("--floor", "--only", "echo, stateless")

  assert.deepEqual(failures, [])
  assert.ok(rows.length > 0)
  assert.deepEqual(without("floor", rows), [])
  assert.match(stdout, /^echo, stateless$/m)
})

const withoutPython =
  unlessLong("it takes a minute") ||
  (!process.env.SUPERSTEP_TEST_PYTHON &&
    "no Python with langgraph and uvicorn: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON")

test("graphs in Python give correct results and have figures beside their floor", { skip: withoutPython }, async () => {
  const { rows, failures } = await quickBench("--python", "--only", "5 tokens, stateless")

  assert.deepEqual(failures, [])
  assert.ok(rows.every(({ values }) => values.python !== undefined || values["python-floor"] !== undefined))
})

const skip =
  unlessLong("it takes minutes") ||
  (!existsSync("/proc/self/smaps_rollup") && "memory and processor time are read from /proc")

test("every scenario gives correct results and all its figures on floor, server and edge", { skip }, async () => {
  const { stdout, rows, failures } = await quickBench()

  assert.deepEqual(failures, [])
  const missing = without("floor", rows).map(({ metric }) => metric.trim())
  // A deployment by hand has no such stages, and the floor has no database and no newer protocol.
  const isOursAlone = (label: string) =>
    /, (young|aged|\d+ servers?)$|^ratio: |^connections|reader|replayed|newer (protocol|÷ older)|older API/.test(label)
  const unexpected = missing.filter((label) => !isOursAlone(label))
  assert.deepEqual(unexpected, ["of that, queue", "of that, switch", "of that, verify"])
  assert.deepEqual(without("server", rows), [])
  assert.ok(rows.some(({ ratios }) => ratios.edge !== undefined))
  assert.match(stdout, /^two burning graphs$/m)
})
