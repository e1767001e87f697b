import assert from "node:assert/strict"
import test from "node:test"
import { languageOf } from "./language.js"

test("a graph is Python's when its file or its module is", () => {
  for (const spec of ["./agent.py:graph", "src/agent.py:make_graph", "my_package.agent:graph", "agent:graph"])
    assert.equal(languageOf(spec), "python", spec)
  for (const spec of ["./agent.ts:graph", "agent.mjs:default", "./dist/agent.js:graph", "C:\\agent.ts:graph"])
    assert.equal(languageOf(spec), "javascript", spec)
})
