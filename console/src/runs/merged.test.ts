import assert from "node:assert/strict"
import { test } from "node:test"
import { type AgentRuns, merged } from "./merged.js"
import type { ListedRun, RunPage } from "./run-pages.js"

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z`

/** @param end  the second down to which the page looks; undefined: no run is left */
const page = (name: string, seconds: readonly number[], end?: number): RunPage => ({
  runs: seconds.map((second) => ({ run_id: `${name}${second}`, created_at: at(second) }) as ListedRun),
  next: end === undefined ? null : "more",
  read_until: end === undefined ? null : at(end),
  now: at(59),
})

const agent = (name: string, pages: readonly RunPage[], olderError?: string): AgentRuns => ({
  source: { id: name, name, base: "", fetch: async () => new Response() },
  known: { pages, readAt: 0, ...(olderError !== undefined && { olderError }) },
})

const idsOf = (agents: readonly AgentRuns[]) => merged(agents).runs.map(({ run }) => run.run_id)
const toRead = (agents: readonly AgentRuns[]) => merged(agents).toRead.map(({ id }) => id)

const range = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, n) => from - n)

test("the runs of all agents are in one order, the newest first", () => {
  const agents = [agent("a", [page("a", [40, 10])]), agent("b", [page("b", [30])]), agent("c", [page("c", [])])]

  assert.deepEqual(idsOf(agents), ["a40", "b30", "a10"])
  assert.equal(merged(agents).wholeSince, undefined)
  assert.deepEqual(toRead(agents), [])
})

test("the list ends where an agent has older runs that were not read, and that agent is read next", () => {
  const agents = [
    agent("a", [page("a", [40, 35], 35)]),
    agent("b", [page("b", [50, ...range(30, 5)], 5)]),
    agent("c", [page("c", [38, 1])]),
  ]

  assert.deepEqual(idsOf(agents), ["b50", "a40", "c38", "a35"])
  assert.equal(merged(agents).wholeSince, at(35))
  assert.deepEqual(toRead(agents), ["a"])
})

test("an agent with few runs in store is read along with the one that holds the list back", () => {
  const agents = [agent("a", [page("a", [40], 35)]), agent("b", [page("b", [50, 30], 30)])]

  assert.deepEqual(toRead(agents), ["a", "b"])
})

test("an agent that does not answer for older runs is named, and holds the list of the others not back", () => {
  const agents = [agent("a", [page("a", [40], 35)], "away"), agent("b", [page("b", [50, 20], 20)])]

  const { cutShort, wholeSince } = merged(agents)

  assert.deepEqual(
    cutShort.map(({ source, error, since }) => [source.id, error, since]),
    [["a", "away", at(35)]],
  )
  assert.equal(wholeSince, at(20))
  assert.deepEqual(idsOf(agents), ["b50", "a40", "b20"])
  assert.deepEqual(toRead([agent("a", [page("a", [40], 35)], "away")]), [])
})

test("pages that were read in vain are those since the list has grown", () => {
  const inVain = agent("a", [page("a", [40], 40), page("a", [], 38), page("a", [], 30)])

  assert.equal(merged([inVain]).fruitless, 2)
  assert.equal(merged([agent("a", [page("a", [], 38), page("a", [], 30)])]).fruitless, 1)
  assert.equal(merged([inVain, agent("b", [page("b", [39, 35])])]).fruitless, 0)
  assert.equal(merged([agent("a", [page("a", [40, 40], 40), page("a", [40, 40], 40)])]).fruitless, 0)
})
