import assert from "node:assert/strict"
import { test } from "node:test"
import { loadProblems, loadSentence } from "./load-failures.js"

const failure = (id: string, message = "Unexpected end of file") => ({ id, message, codeFrame: "> 3 |" })

test("an error that fails several graphs is one problem, with its graphs", () => {
  const problems = loadProblems([failure("a"), failure("b", "no export"), failure("c")])

  assert.deepEqual(
    problems.map(({ ids, message }) => [ids, message]),
    [
      [["a", "c"], "Unexpected end of file"],
      [["b"], "no export"],
    ],
  )
})

test("a sentence names at most three graphs", () => {
  const ids = [
    ["a"],
    ["a", "b"],
    ["a", "b", "c"],
    Array.from({ length: 20 }, (_, n) => `g${n}`),
    ["auth.path"],
    ["a", "http.app"],
    [""],
  ]

  const sentences = ids.map((it) => loadSentence({ ids: it, message: "no." }))

  assert.deepEqual(sentences, [
    'graph "a" does not load: no.',
    'graphs "a" and "b" do not load: no.',
    'graphs "a", "b" and "c" do not load: no.',
    'graphs "g0", "g1", "g2" and 17 more do not load: no.',
    "auth.path does not load: no.",
    '"a" and http.app do not load: no.',
    "no.",
  ])
})
