/** The judge of deployments on planted histories: it finds each fault, and passes each good history. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { OutcomeWith } from "./call.js"
import { type DeploymentCall, type DeploymentOperation, type DeploymentValue, deploymentObject } from "./deployment.js"
import { withEvidence } from "./deployment-campaign.js"
import { search } from "./search.js"

type Outcome = OutcomeWith<DeploymentValue>
type Line = readonly [DeploymentOperation, Outcome]

const ok: Outcome = { is: "ok" }
const conflict: Outcome = { is: "refused", status: 409 }
const does = (what: DeploymentOperation, outcome: Outcome = ok): Line => [what, outcome]
const secret = (revision: string): DeploymentOperation => ({ op: "patch", revision, mark: revision })
const sets = (revision: string): Line => does(secret(revision))
const pushes = (revision: string, ref: string): Line => does({ op: "patch", revision, ref })
const address: DeploymentOperation = { op: "address" }
const serves = (name: string, mark?: string): Line => [address, { is: "ok", value: { serves: name, mark } }]
const is = (of: string, status: string, ref = "main", repeats: string | null = null): Line => [
  { op: "revision", of },
  { is: "ok", value: { status, ref, repeats } },
]
const interrupts = (of: string): Line => does({ op: "interrupt", of })
const rollsBack = (revision: string, of?: string): Line => does({ op: "rollback", revision, ...(of && { of }) })
const creates = (revision: string, outcome: Outcome = ok): Line =>
  does({ op: "create", revision, ref: "main" }, outcome)
const list = (names: string): Line => [{ op: "list" }, { is: "ok", value: { names: names.split(" ") } }]

/** One after the other, all by one client. */
function judge(lines: readonly Line[], hasCanaries = false): string {
  const calls = lines.map(([what, outcome], at): DeploymentCall => {
    const returnedAt = outcome.is === "unknown" ? Number.POSITIVE_INFINITY : at * 10 + 5
    return { thread: "d", client: "a", what, calledAt: at * 10, returnedAt, outcome }
  })
  const object = deploymentObject({ first: "first", ref: "main", hasCanaries }, calls)
  return search(object, withEvidence(calls), 10_000).is
}

const bad: Readonly<Record<string, readonly Line[]>> = {
  "an interrupted revision serves": [sets("x"), interrupts("x"), serves("x", "x")],
  "a revision serves again without a request": [sets("x"), is("x", "DEPLOYED"), serves("x", "x"), serves("first")],
  "a revision serves with the secret of another one": [sets("x"), sets("y"), serves("y", "x")],
  "a change of code loses the secret of the change before it": [sets("x"), pushes("y", "one"), serves("y")],
  "two revisions are built, though one waits for the other": [
    sets("x"),
    sets("y"),
    is("y", "BUILDING"),
    is("x", "BUILDING"),
  ],
  "the newest revision is skipped": [sets("x"), is("x", "SKIPPED")],
  "a revision is accepted while one is in progress": [
    sets("x"),
    creates("y"),
    is("x", "BUILDING"),
    is("x", "DEPLOYED"),
  ],
  "a revision on request is refused though none is in progress": [creates("y", conflict)],
  "a rollback goes to the revision that serves": [
    sets("x"),
    is("x", "DEPLOYED"),
    rollsBack("y"),
    is("y", "QUEUED", "main", "x"),
  ],
  "a final status changes": [sets("x"), is("x", "DEPLOYED"), is("x", "INTERRUPTED")],
  "a revision that an acknowledged call created is gone": [sets("x"), list("first")],
  "one that serves is interrupted": [sets("x"), serves("x", "x"), interrupts("x")],
  "nobody answers": [does(address, { is: "refused", status: 503 })],
}

for (const [name, lines] of Object.entries(bad))
  test(`no order explains that ${name}`, () => {
    assert.equal(judge(lines), "impossible")
  })

const good: Readonly<Record<string, readonly Line[]>> = {
  "a lost change is there later": [does(secret("x"), { is: "unknown" }), serves("first"), serves("x", "x")],
  "a lost change never happened": [does(secret("x"), { is: "unknown" }), serves("first"), list("first")],
  "two rollbacks go back two steps": [
    sets("x"),
    is("x", "DEPLOYED"),
    pushes("y", "one"),
    is("y", "DEPLOYED", "one"),
    rollsBack("z"),
    serves("z", "x"),
    is("z", "DEPLOYED", "main", "x"),
    rollsBack("w"),
    serves("w"),
    is("w", "DEPLOYED", "main", "first"),
  ],
  "a redeploy of a redeploy repeats the first one": [
    does({ op: "redeploy", revision: "x", of: "first" }),
    does({ op: "redeploy", revision: "y", of: "x" }),
    is("x", "SKIPPED", "main", "first"),
    is("y", "DEPLOYED", "main", "first"),
  ],
  "a rollback replaces a build": [
    sets("x"),
    is("x", "BUILDING"),
    rollsBack("y", "first"),
    is("x", "SKIPPED"),
    serves("y"),
  ],
}

for (const [name, lines] of Object.entries(good))
  test(`some order explains that ${name}`, () => {
    assert.equal(judge(lines), "explained")
  })

test("a canary serves only once it is promoted, and never after it was aborted", () => {
  const canary: Line[] = [sets("x"), is("x", "DEPLOYED"), serves("first")]
  const promote: Line = does({ op: "promote", of: "x" })
  const abort: Line = does({ op: "abort", of: "x" })

  assert.equal(judge([...canary, promote, serves("x", "x")], true), "explained")
  assert.equal(judge([...canary, promote, abort, serves("first")], true), "explained")
  assert.equal(judge([...canary, serves("x", "x")], true), "impossible")
  assert.equal(judge([...canary, abort, serves("x", "x")], true), "impossible")
  assert.equal(judge([...canary, abort, promote], true), "impossible")
})
