import assert from "node:assert/strict"
import { test } from "node:test"
import { reasonOf, shownDeployment, shownRevision } from "./status.js"

test("a deployment shows what a caller would get", () => {
  assert.equal(shownDeployment({ health: "crashing", status: "READY" }).tone, "bad")
  assert.equal(shownDeployment({ health: null, status: "AWAITING_DATABASE" }).word, "Preparing")
})

test("of two deployed revisions only the active one is serving", () => {
  const deployed = { status: "DEPLOYED", traffic: null, error_code: null, health: null }

  assert.equal(shownRevision({ ...deployed, id: "a" }, "a").word, "Serving")
  assert.equal(shownRevision({ ...deployed, id: "b" }, "a").word, "Deployed before")
  assert.equal(shownRevision({ ...deployed, id: "b", traffic: { weight: 5, runs: null } }, "a").word, "Canary")
  assert.deepEqual(shownRevision({ ...deployed, id: "b", error_code: "crash_loop" }, "a"), {
    word: "Crashed",
    tone: "bad",
  })
})

test("a revision whose processes crash is shown as that while it serves, and not for ever after", () => {
  const crashing = { id: "a", status: "DEPLOYED", traffic: null, error_code: null, health: "crashing" } as const

  assert.deepEqual(shownRevision(crashing, "a"), { word: "Crashing", tone: "bad" })
  assert.equal(shownRevision({ ...crashing, traffic: { weight: 5, runs: null } }, "b").word, "Crashing")
  assert.equal(shownRevision({ ...crashing, health: "down" }, "a").word, "Down")
  assert.equal(shownRevision({ ...crashing, health: "asleep" }, "a").word, "Serving")
  assert.equal(shownRevision(crashing, "b").word, "Deployed before")
})

test("a status message is a sentence with the end of the log", () => {
  assert.deepEqual(reasonOf("the install failed. Run it in a clean checkout.\n  npm ERR! 404\n    at x"), {
    sentence: "The install failed. Run it in a clean checkout.",
    lines: ["npm ERR! 404", "  at x"],
  })
  assert.equal(reasonOf(null), undefined)
  const withId = reasonOf("it crashed; revision 01a21f9d-d47f-776d-bb5f-eebd5124e785 serves again. See the log.")
  assert.equal(withId?.sentence, "It crashed; revision 5124e785 serves again. See the log.")
})
