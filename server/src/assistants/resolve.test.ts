/** How a run's assistant is found, and the errors when there is none. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { serverDatabase } from "../testing/test-server.js"
import { resolveAssistant } from "./operations.js"

test("a run of a graph that failed to load gets the reason instead of a 404", async () => {
  await using db = await serverDatabase()
  const report = { graphs: ["whole"], failed: [{ graphId: "broken", message: "SyntaxError: Unexpected token" }] }

  assert.equal((await resolveAssistant({ db }, "whole", report)).graphId, "whole")
  await assert.rejects(resolveAssistant({ db }, "broken", report), {
    code: "graph_unavailable",
    message: 'the graph "broken" did not load: SyntaxError: Unexpected token',
  })
  await assert.rejects(resolveAssistant({ db }, "nobody", report), NotFound)
})
