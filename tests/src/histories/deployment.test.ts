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
const secret = (revision: string): DeploymentOperation => ({ op: "patch", revision, mark: revision })
const code = (revision: string, ref: string): DeploymentOperation => ({ op: "patch", revision, ref })
const address: DeploymentOperation = { op: "address" }
const serves = (name: string, mark?: string): Line => [address, { is: "ok", value: { serves: name, mark } }]
const is = (of: string, status: string, ref = "main", repeats: string | null = null): Line => [
  { op: "revision", of },
  { is: "ok", value: { status, ref, repeats } },
]
const interrupt = (of: string): DeploymentOperation => ({ op: "interrupt", of })
const rollback = (revision: string, of?: string): DeploymentOperation => ({
  op: "rollback",
  revision,
  ...(of && { of }),
})
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
  "an interrupted revision serves": [[secret("x"), ok], [interrupt("x"), ok], serves("x", "x")],
  "a revision serves again without a request": [
    [secret("x"), ok],
    is("x", "DEPLOYED"),
    serves("x", "x"),
    serves("first"),
  ],
  "a revision serves with the secret of another one": [[secret("x"), ok], [secret("y"), ok], serves("y", "x")],
  "a change of code loses the secret of the change before it": [[secret("x"), ok], [code("y", "one"), ok], serves("y")],
  "two revisions are built, though one waits for the other": [
    [secret("x"), ok],
    [secret("y"), ok],
    is("y", "BUILDING"),
    is("x", "BUILDING"),
  ],
  "the newest revision is skipped": [[secret("x"), ok], is("x", "SKIPPED")],
  "a revision is accepted while one is in progress": [
    [secret("x"), ok],
    [{ op: "create", revision: "y", ref: "main" }, ok],
    is("x", "BUILDING"),
    is("x", "DEPLOYED"),
  ],
  "a revision on request is refused though none is in progress": [
    [{ op: "create", revision: "y", ref: "main" }, conflict],
  ],
  "a rollback goes to the revision that serves": [
    [secret("x"), ok],
    is("x", "DEPLOYED"),
    [rollback("y"), ok],
    is("y", "QUEUED", "main", "x"),
  ],
  "a final status changes": [[secret("x"), ok], is("x", "DEPLOYED"), is("x", "INTERRUPTED")],
  "a revision that an acknowledged call created is gone": [[secret("x"), ok], list("first")],
  "one that serves is interrupted": [[secret("x"), ok], serves("x", "x"), [interrupt("x"), ok]],
  "nobody answers": [[address, { is: "refused", status: 503 }]],
}

for (const [name, lines] of Object.entries(bad))
  test(`no order explains that ${name}`, () => {
    assert.equal(judge(lines), "impossible")
  })

const good: Readonly<Record<string, readonly Line[]>> = {
  "a lost change is there later": [[secret("x"), { is: "unknown" }], serves("first"), serves("x", "x")],
  "a lost change never happened": [[secret("x"), { is: "unknown" }], serves("first"), list("first")],
  "two rollbacks go back two steps": [
    [secret("x"), ok],
    is("x", "DEPLOYED"),
    [code("y", "one"), ok],
    is("y", "DEPLOYED", "one"),
    [rollback("z"), ok],
    serves("z", "x"),
    is("z", "DEPLOYED", "main", "x"),
    [rollback("w"), ok],
    serves("w"),
    is("w", "DEPLOYED", "main", "first"),
  ],
  "a redeploy of a redeploy repeats the first one": [
    [{ op: "redeploy", revision: "x", of: "first" }, ok],
    [{ op: "redeploy", revision: "y", of: "x" }, ok],
    is("x", "SKIPPED", "main", "first"),
    is("y", "DEPLOYED", "main", "first"),
  ],
  "a rollback replaces a build": [
    [secret("x"), ok],
    is("x", "BUILDING"),
    [rollback("y", "first"), ok],
    is("x", "SKIPPED"),
    serves("y"),
  ],
}

for (const [name, lines] of Object.entries(good))
  test(`some order explains that ${name}`, () => {
    assert.equal(judge(lines), "explained")
  })

test("a canary serves only once it is promoted, and never after it was aborted", () => {
  const canary: Line[] = [[secret("x"), ok], is("x", "DEPLOYED"), serves("first")]
  const promote: Line = [{ op: "promote", of: "x" }, ok]
  const abort: Line = [{ op: "abort", of: "x" }, ok]

  assert.equal(judge([...canary, promote, serves("x", "x")], true), "explained")
  assert.equal(judge([...canary, promote, abort, serves("first")], true), "explained")
  assert.equal(judge([...canary, serves("x", "x")], true), "impossible")
  assert.equal(judge([...canary, abort, serves("x", "x")], true), "impossible")
  assert.equal(judge([...canary, abort, promote], true), "impossible")
})
