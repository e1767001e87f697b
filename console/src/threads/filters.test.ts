import assert from "node:assert/strict"
import { test } from "node:test"
import { areSet, conditionsOf, filtersIn, noFilters } from "./filters.js"

test("an address becomes filters, and what it should not have is left out", () => {
  const raw = { q: 42, status: "busy", graph: "agent", metadata: "a:1", since: "7d", page: 3 }

  assert.deepEqual(filtersIn(raw), { q: "42", status: "busy", graph: "agent", metadata: "a:1", since: "7d" })
  assert.deepEqual(filtersIn({ status: "gone", since: "ever", q: {} }), noFilters)
  assert.deepEqual([areSet(noFilters), areSet({ ...noFilters, q: "a" })], [false, true])
})

test("filters become the conditions of a search", () => {
  const filters = filtersIn({ q: "refund", status: "interrupted", graph: "agent", metadata: "user:ann", since: "1h" })

  assert.deepEqual(conditionsOf(filters, Date.parse("2026-01-01T12:00:00Z")), {
    text: "refund",
    status: "interrupted",
    metadata: { user: "ann", graph_id: "agent" },
    updated_after: "2026-01-01T11:00:00.000Z",
  })
  assert.deepEqual(conditionsOf(noFilters, 0), {})
})
