import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { curlCommand, exampleKey, javascriptSnippet, pythonSnippet } from "./try-it.js"

const target = { url: "http://127.0.0.1:8901/d/chat", graph: "chat", apiKey: "ssk_abc" }

test("the curl command is quoted correctly for a shell", () => {
  // `printf` in place of `curl` prints each argument on a line of its own.
  const printed = execFileSync("sh", ["-c", curlCommand(target).replace("curl", "printf '%s\\n'")])
    .toString()
    .split("\n")

  assert.deepEqual(printed.slice(0, 6), [
    "-N",
    "http://127.0.0.1:8901/d/chat/runs/stream",
    "-H",
    "x-api-key: ssk_abc",
    "-H",
    "content-type: application/json",
  ])
  assert.equal(printed[6], "-d")
  assert.equal((JSON.parse(printed[7] ?? "") as { assistant_id: string }).assistant_id, "chat")
})

test("a quote in a graph's name does not break the command", () => {
  const printed = execFileSync("sh", [
    "-c",
    curlCommand({ url: "http://a", graph: "it's" }).replace("curl", "printf '%s\\n'"),
  ]).toString()

  assert.match(printed, /"assistant_id":"it's"/)
})

test("without a key the examples contain none", () => {
  for (const text of [curlCommand, javascriptSnippet, pythonSnippet].map((make) =>
    make({ url: "http://a", graph: "g" }),
  )) {
    assert.doesNotMatch(text, /key/i)
  }
})

test("an example has the server's first key on a terminal, and says where it is in a log", () => {
  assert.equal(exampleKey("first, second", true), "first")
  assert.equal(exampleKey(" first , second", true), "first")
  assert.equal(exampleKey("first, second", false), "<one of SUPERSTEP_API_KEYS>")
  assert.equal(exampleKey(undefined, true), undefined)
})
