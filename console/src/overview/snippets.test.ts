import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { snippets } from "./snippets.js"

const called = { url: "http://127.0.0.1:8901/d/chat", graph: `it's "$(id)" \\ \`x\`` }

test("each snippet has the address and the graph as one text each, whatever a graph is called", () => {
  for (const [name, text] of snippets) {
    const snippet = text(called)
    assert.ok(snippet.includes(called.url), name)
    if (name !== "curl") assert.ok(snippet.includes(JSON.stringify(called.graph)), name)
  }
})

test("a shell reads the words of the request, and executes nothing in them", () => {
  const [, curl] = snippets[0] ?? assert.fail("there is none for curl")
  const script = `curl() { printf '%s\\n' "$@"; }; ${curl(called)}`

  const words = execFileSync("sh", ["-c", script], { env: { KEY: "key" }, encoding: "utf8" }).split("\n")

  assert.equal(words[1], `${called.url}/runs/stream`)
  assert.equal(JSON.parse(words[words.indexOf("-d") + 1] ?? "").assistant_id, called.graph)
})
