import assert from "node:assert/strict"
import { test } from "node:test"
import type { ListedRun } from "../runs/run-pages.js"
import { type AgentPage, emptyTitle, merged } from "./merged.js"

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000`

/** @param end  the second at which the page ends; undefined: the agent has no older runs */
const agent = (name: string, seconds: readonly number[], end?: number): AgentPage => ({
  deploymentId: `id-${name}`,
  name,
  page: {
    runs: seconds.map((second) => ({ run_id: `${name}${second}`, created_at: `${at(second)}Z` }) as ListedRun),
    next: end === undefined ? null : `${at(end)}000Z_${name}${end}`,
    now: `${at(59)}Z`,
  },
})

const idsOf = (pages: readonly AgentPage[]) => merged(pages).runs.map(({ run }) => run.run_id)

test("the runs of all agents are in one order, the newest first", () => {
  const pages = [agent("a", [40, 10]), agent("b", [30]), agent("c", [])]

  assert.deepEqual(idsOf(pages), ["a40", "b30", "a10"])
  assert.deepEqual(merged(pages).wholeSince, undefined)
})

test("the list ends where one agent has older runs that were not read, and says which agents have some", () => {
  const pages = [agent("a", [40, 35], 35), agent("b", [50, 20, 5], 5), agent("c", [38, 1])]

  const { wholeSince, withOlder } = merged(pages)

  assert.deepEqual(idsOf(pages), ["b50", "a40", "c38", "a35"])
  assert.equal(wholeSince, `${at(35)}Z`)
  assert.deepEqual(
    withOlder.map(({ name }) => name),
    ["a", "b"],
  )
})

test("that no run matches is said only when no agent has older ones that were not read", () => {
  assert.equal(emptyTitle(merged([agent("a", [], 35), agent("b", [])]), true), undefined)
  assert.equal(emptyTitle(merged([agent("a", []), agent("b", [])]), true), "No run matches")
  assert.equal(emptyTitle(merged([agent("a", [])]), false), "No runs yet")
  assert.equal(emptyTitle(merged([agent("a", [40])]), true), undefined)
})
