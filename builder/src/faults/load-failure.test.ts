import assert from "node:assert/strict"
import test from "node:test"
import { processorMsOf } from "@superstep/toolkit/testing/processor-time"
import { loadFailure } from "./load-failure.js"

const cases: readonly (readonly [message: string, code: string, added?: string])[] = [
  ['the environment variable "OPENAI_API_KEY" is not set', "secret_missing", "OPENAI_API_KEY"],
  ['the environment variable "key" is not set, the environment variable "B" is not set', "secret_missing", "key, B"],
  // OpenAI's client, langchain-core, environs.
  [
    "The api_key client option must be set either by passing api_key to the client or by setting the OPENAI_API_KEY environment variable",
    "secret_missing",
    "OPENAI_API_KEY",
  ],
  [
    "Did not find openai_api_key, please add an environment variable `OPENAI_API_KEY` which contains it, or pass `openai_api_key`",
    "secret_missing",
    "OPENAI_API_KEY",
  ],
  ['Environment variable "SHOP_KEY" not set', "secret_missing", "SHOP_KEY"],
  ['the environment variable "GIVEN_KEY" is not set', "graph_load_failed"],
  ["No module named 'notthere'", "module_missing"],
  ["Cannot find package 'zod' imported from /tmp/graph.ts", "module_missing"],
  ["/srv/.venv/bin/python does not have langgraph: add it", "module_missing"],
  ["KeyError: 'OPENAI'", "graph_load_failed"],
  ["bad day", "graph_load_failed"],
]

test("a module that does not load tells whether a variable, a package or its own code is at fault", () => {
  for (const [message, code, added] of cases)
    assert.deepEqual(loadFailure([message], "words", ["GIVEN_KEY"]), {
      code,
      message: added === undefined ? "words" : `words (the deployment has no ${added})`,
    })
})

test("a message of any text is judged in linear time", async () => {
  for (const unit of ["A_", "A", "environment variable ", 'environment variable "a', "_", "A_1"]) {
    const usedMs = await processorMsOf(() => loadFailure([`missing ${unit.repeat(512 * 1024)}`], "", []))
    assert.ok(usedMs < 5000, unit)
  }
})
