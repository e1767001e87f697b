import assert from "node:assert/strict"
import { test } from "node:test"
import { pathBelow } from "./paths.js"

const seen = (prefix: string, path: string): string => pathBelow(prefix)(new Request(`http://localhost${path}`))
const isNowhere = (path: string): boolean => path.startsWith("/./")

test("internal paths exist in one spelling only, because the edge blocks only that one", () => {
  for (const path of ["/agents/internal/activate", "/agents/%69nternal/activate", "/%61gents/internal/activate"]) {
    assert.ok(isNowhere(seen("/agents", path)), path)
  }
})
