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

const twenty = Array.from({ length: 20 }, (_, n) => `g${n}`)

for (const [ids, sentence] of [
  [["a"], 'graph "a" does not load: no.'],
  [["a", "b"], 'graphs "a" and "b" do not load: no.'],
  [["a", "b", "c"], 'graphs "a", "b" and "c" do not load: no.'],
  [twenty, 'graphs "g0", "g1", "g2" and 17 more do not load: no.'],
  [["auth.path"], "auth.path does not load: no."],
  [["a", "http.app"], '"a" and http.app do not load: no.'],
  [[""], "no."],
] as const)
  test(`a sentence names at most three graphs: ${sentence}`, () =>
    assert.equal(loadSentence({ ids, message: "no." }), sentence))
