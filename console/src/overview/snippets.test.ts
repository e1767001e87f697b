import assert from "node:assert/strict"
import { test } from "node:test"
import { snippets } from "./snippets.js"

test("each snippet names the address and the graph", () => {
  for (const [name, text] of snippets) {
    const snippet = text({ url: "http://127.0.0.1:8901/d/chat", graph: "support" })
    assert.match(snippet, /http:\/\/127\.0\.0\.1:8901\/d\/chat/, name)
    assert.match(snippet, /"support"/, name)
  }
})
