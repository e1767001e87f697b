import assert from "node:assert/strict"
import { test } from "node:test"
import type { Sample } from "./sample.js"
import { problemsOf } from "./verdict.js"

const megabyte = 1024 * 1024

const sample = (changes: Partial<Sample> = {}): Sample => ({
  heapBytes: 17 * megabyte,
  externalBytes: 4 * megabyte,
  resources: {},
  residentBytes: 90 * megabyte,
  files: 29,
  databaseConnections: 11,
  processes: 2,
  workers: new Map([[1, { heapBytes: 23 * megabyte, residentBytes: 80 * megabyte }]]),
  ...changes,
})

/** Ten rounds of 500 runs. */
const soakOf = (make: (round: number) => Partial<Sample>) => {
  const rounds = Array.from({ length: 10 }, (_, round) => round)
  return {
    samples: rounds.map((round) => sample(make(round))),
    runs: rounds.map((n) => 500 * n),
    failures: [],
    kills: 0,
  }
}

for (const [what, megabytesIn] of [
  ["a heap that breathes", (round: number) => 17 + (round % 3) / 2],
  ["what the first half fills", (round: number) => 17 + 2 * Math.min(round, 4)],
] as const)
  test(`${what} is no leak`, () => {
    assert.deepEqual(problemsOf(soakOf((round) => ({ heapBytes: megabytesIn(round) * megabyte }))), [])
  })

test("a server that keeps 5 KB of each run is found", () => {
  const soak = soakOf((round) => ({ heapBytes: 17 * megabyte + round * 500 * 5 * 1024 }))

  assert.match(problemsOf(soak).join(), /the server's heap grew by 9.8 MB over 2000 runs, and 5.9 MB are allowed/)
})

test("a worker that grows, a file that stays open, a process too many are found", () => {
  const soak = soakOf((round) => ({
    files: 29 + round,
    processes: round === 9 ? 3 : 2,
    workers: new Map([[1, { heapBytes: (23 + 3 * round) * megabyte, residentBytes: 80 * megabyte }]]),
  }))

  const beginnings = problemsOf(soak).map((problem) => problem.split(" ").slice(0, 5).join(" "))
  assert.deepEqual(beginnings, ["the heap of worker 1", "38 files are open, and", "3 processes, and 2 before"])
})
