import assert from "node:assert/strict"
import { test } from "node:test"
import { areSet, conditionsOf, filtersIn, noFilters } from "./filters.js"

test("an address becomes filters, and what it should not have is left out", () => {
  const filters = filtersIn({ error: 42, status: "failed", took: "10s", since: "24h", page: 3 })

  assert.deepEqual(filters, { ...noFilters, error: "42", status: "failed", took: "10s", since: "24h" })
  assert.deepEqual(filtersIn({ status: "gone", took: "ever", user: {} }), noFilters)
  assert.deepEqual([areSet(noFilters), areSet(filters)], [false, true])
})

test("filters become the conditions of a search", () => {
  const raw = {
    error: "card",
    status: "failed",
    graph: "agent",
    revision: "r-1",
    user: "ann",
    metadata: "team:a",
    since: "1h",
    took: "1min",
  }

  assert.deepEqual(conditionsOf(filtersIn(raw), Date.parse("2026-01-01T12:00:00Z")), {
    error: "card",
    status: ["error", "timeout"],
    graph_id: "agent",
    revision_id: "r-1",
    user_id: "ann",
    metadata: { team: "a" },
    created_after: "2026-01-01T11:00:00.000Z",
    min_seconds: 60,
  })
  assert.deepEqual(conditionsOf(noFilters, 0), {})
})
