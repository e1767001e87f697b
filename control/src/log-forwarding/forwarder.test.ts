/** Log forwarding to real receivers that fail, hang and come back; pauses are short, and nothing is asserted about time. */

import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type Receiver, startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { appendLogLines } from "../logs/operations.js"
import { keepQuota } from "../logs/quota.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { backOffMs, type ForwarderOptions, LogForwarder, rejectsContent } from "./forwarder.js"
import { forwardingState, recordFailure, switchOn } from "./queries.js"
import { headersProblem, sinkOf, sinkProblem } from "./sink.js"

const rules = { allowsLoopback: true, allowsPrivate: false }

async function startForwarder(
  { db }: TestApi,
  url: string,
  { format = "json" as const, ...more }: Partial<ForwarderOptions> & { format?: "json" | "otlp" } = {},
) {
  const sink = sinkOf({ logForwardUrl: url, logForwardFormat: format }) ?? assert.fail("no sink")
  const pausesMs = { accepted: 1, failed: 1, most: 4 }
  const forwarder = new LogForwarder({ db, log: silent, rules, sink, pausesMs, ...more })
  await forwarder.start()
  return { [Symbol.asyncDispose]: () => forwarder.stop() }
}

async function deployment(api: TestApi, name: string) {
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment(name) })
  const revisionId: string = body.latest_revision_id
  const add = (...lines: string[]) => appendLogLines(api.db, revisionId, "deploy", lines)
  return { id: body.id as string, revisionId, add }
}

/** The messages of a deployment, in the order of their arrival, repetitions included. */
const arrived = ({ calls }: Receiver, deploymentId: string): string[] =>
  calls.flatMap(({ json }) =>
    json.flatMap((it: { deployment_id: string; message: string }) =>
      it.deployment_id === deploymentId ? [it.message] : [],
    ),
  )

const unique = (messages: readonly string[]) => [...new Set(messages)]
const numbered = (count: number, from = 1) => Array.from({ length: count }, (_, index) => `line ${index + from}`)

/** Waits until everything that is stored was accepted, as the cursors say. */
const untilAllSent = ({ db }: TestApi) =>
  until(
    async () =>
      (await db.row(sql`select 1 from log_lines where log_line_id > forwarded_line(deployment_id) limit 1`)) ===
      undefined,
    { what: "every line is sent" },
  )

test("lines arrive in order, once while all is well, and from the first start on (L1, L2)", async () => {
  await using api = await startApi()
  const one = await deployment(api, "one")
  await one.add("from before")
  await using receiver = await startReceiver()
  const first = await startForwarder(api, receiver.url)
  const other = await deployment(api, "other")

  await one.add(...numbered(600))
  await appendLogLines(api.db, other.revisionId, "build", numbered(3))
  await untilAllSent(api)
  await first[Symbol.asyncDispose]()
  await other.add("while it is stopped")
  await using _second = await startForwarder(api, receiver.url)
  await untilAllSent(api)

  assert.deepEqual(arrived(receiver, one.id), numbered(600))
  assert.deepEqual(arrived(receiver, other.id), [...numbered(3), "while it is stopped"])
  const [item] = receiver.calls.flatMap(({ json }) => json).filter(({ deployment_id }) => deployment_id === other.id)
  assert.deepEqual(
    [item.service, item.level, item.stream, item.workspace_id, item.revision_id, item.revision_number],
    ["other", "INFO", "build", api.workspaceId, other.revisionId, 1],
  )
  assert.match(item.timestamp, /^\d{4}-\d\d-\d\dT.*\.\d{6}Z$/)
})

test("a sink that fails, hangs and breaks connections gets every line, in order (L1, L2, L4)", async () => {
  await using api = await startApi()
  const { id, add } = await deployment(api, "one")
  await using receiver = await startReceiver((reply, n) => {
    // The third is never answered, and meets the time limit.
    if (n === 1) reply.writeHead(503).end()
    else if (n === 2) reply.destroy()
    else if (n === 4) reply.writeHead(401).end()
    else if (n !== 3) reply.end()
  })
  await using _forwarder = await startForwarder(api, receiver.url, { timeoutMs: lateOnBusyMachineMs })

  await add(...numbered(10))
  await until(() => receiver.calls.length >= 5, { what: "the sink was asked again after each failure" })
  await add(...numbered(10, 11))
  await untilAllSent(api)

  assert.deepEqual(unique(arrived(receiver, id)), numbered(20))
  const state = await forwardingState(api.db)
  assert.deepEqual([state?.sent_lines, state?.failing_seconds], [20, 0])
})

test("a forwarder that is stopped while the sink hangs leaves its lines to the next one", async () => {
  await using api = await startApi()
  const { id, add } = await deployment(api, "one")
  await using receiver = await startReceiver((reply, n) => void (n > 1 && reply.end()))
  const first = await startForwarder(api, receiver.url)
  await add(...numbered(5))
  await until(() => receiver.calls.length === 1, { what: "a request is under way" })

  await first[Symbol.asyncDispose]()
  const stopped = await forwardingState(api.db)
  await using _second = await startForwarder(api, receiver.url)
  await untilAllSent(api)

  assert.equal(stopped?.failing_seconds, 0, "a stop is no failure of the sink")
  assert.deepEqual(unique(arrived(receiver, id)), numbered(5))
})

test("a sink that answers 413 gets smaller requests until it accepts them (L3)", async () => {
  await using api = await startApi()
  const { id, add } = await deployment(api, "one")
  await using receiver = await startReceiver((reply) => {
    const { json } = receiver.calls.at(-1) ?? assert.fail("no call")
    reply.writeHead(json.length > 3 ? 413 : 200).end()
  })
  await using _forwarder = await startForwarder(api, receiver.url)

  await add(...numbered(20))
  await untilAllSent(api)

  const accepted = receiver.calls.filter(({ json }) => json.length <= 3)
  assert.deepEqual(
    unique(accepted.flatMap(({ json }) => json.map((it: { message: string }) => it.message))),
    numbered(20),
  )
  assert.deepEqual(unique(arrived(receiver, id)), numbered(20))
})

test("a line that the sink rejects alone is left out and counted, and all others arrive in order (L4)", async () => {
  await using api = await startApi()
  const [one, other] = [await deployment(api, "one"), await deployment(api, "other")]
  await using receiver = await startReceiver((reply) => {
    const { json } = receiver.calls.at(-1) ?? assert.fail("no call")
    const isBad = json.some(({ message }: { message: string }) => message.startsWith("bad"))
    reply.writeHead(isBad ? 400 : 200).end(isBad ? "cannot be decoded" : "")
  })
  await using _forwarder = await startForwarder(api, receiver.url)

  await one.add(...numbered(7), "bad 1", "bad 2", ...numbered(5, 8))
  await other.add(...numbered(3))
  await untilAllSent(api)

  const accepted = receiver.calls.filter(({ json }) =>
    json.every(({ message }: { message: string }) => !message.startsWith("bad")),
  )
  assert.deepEqual(arrived({ ...receiver, calls: accepted }, one.id), numbered(12))
  assert.deepEqual(unique(arrived(receiver, other.id)), numbered(3))
  const state = await forwardingState(api.db)
  assert.deepEqual([state?.sent_lines, state?.rejected_lines, state?.lost_lines], [15, 2, 0])
  assert.equal(state?.failing_seconds, 0, "a later request was accepted")
})

test("a sink that rejects all lines counts as failing, and nothing is left out for a wrong key or address (L4)", async () => {
  await using api = await startApi()
  const { add } = await deployment(api, "one")
  let status = 401
  await using receiver = await startReceiver((reply) => void reply.writeHead(status).end())
  await using _forwarder = await startForwarder(api, receiver.url)
  await add(...numbered(12))
  await until(() => receiver.calls.length >= 3, { what: "the sink was asked again" })
  const refused = await forwardingState(api.db)

  status = 400
  await until(async () => (await forwardingState(api.db))?.rejected_lines === 12, { what: "all lines are left out" })
  const since = (await forwardingState(api.db))?.failing_seconds ?? 0

  assert.equal(refused?.rejected_lines, 0)
  assert.ok(since > 0, "it fails")
})

test("only refusals of the content leave lines out, and pauses after other failures double up to a limit (L4)", () => {
  assert.deepEqual([400, 413, 415, 422].map(rejectsContent), [true, true, true, true])
  const others = [undefined, 200, 301, 401, 403, 404, 405, 408, 429, 500, 502, 503, 504]
  assert.ok(others.every((status) => !rejectsContent(status)))

  const pauses = [1, 2, 3, 7, 1000].map((failures) => backOffMs(failures, { failed: 1000, most: 60_000 }))

  assert.deepEqual(pauses, [1000, 2000, 4000, 60_000, 60_000])
})

test("lines that the quota deletes before they are sent are counted as lost, sent ones are not (L5)", async () => {
  await using api = await startApi()
  const { id, revisionId, add } = await deployment(api, "one")
  await using receiver = await startReceiver()
  const forwarder = await startForwarder(api, receiver.url)
  await add(...numbered(5))
  await untilAllSent(api)
  await forwarder[Symbol.asyncDispose]()

  await add(...numbered(7, 6))
  await keepQuota(api.db, { deploymentId: id, revisionId, quotaBytes: 1 })

  assert.equal((await forwardingState(api.db))?.lost_lines, 7)
})

test("requests carry the operator's headers and a signature; OTLP goes to /v1/logs", async () => {
  await using api = await startApi()
  const { add } = await deployment(api, "one")
  await using receiver = await startReceiver((reply) =>
    reply.end('{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}'),
  )
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const sink = sinkOf({
    logForwardUrl: `http://127.0.0.1:${receiver.port}`,
    logForwardFormat: "otlp",
    logForwardHeaders: new Secret("Authorization=Bearer%20a%2Cb, x-scope = team one"),
    logForwardSecret: new Secret(secret),
  })
  await using _forwarder = await startForwarder(api, receiver.url, { sink: sink ?? assert.fail("no sink") })

  await add("hello", "world")
  await untilAllSent(api)

  const { path, headers, body, json } = receiver.calls[0] ?? assert.fail("no call")
  assert.deepEqual(
    [path, headers.authorization, headers["x-scope"], headers["content-type"]],
    ["/v1/logs", "Bearer a,b", "team one", "application/json"],
  )
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  const hmac = createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(signed)
    .digest("base64")
  assert.equal(headers["webhook-signature"], `v1,${hmac}`)
  assert.equal(json.resourceLogs[0].scopeLogs[0].logRecords[0].body.stringValue, "hello")
  const state = await forwardingState(api.db)
  assert.deepEqual([state?.sent_lines, state?.rejected_lines], [1, 1])
})

test("the operator's metrics say what is behind, and /health warns of a long failure without naming the sink", async () => {
  await using api = await startApi()
  const metrics = async () => (await api.call("GET", "/metrics", { headers: { "x-api-key": api.orgKey } })).text
  const health = async () => (await api.call("GET", "/health", { headers: { "x-api-key": "" } })).body
  const without = await metrics()
  await switchOn(api.db)
  const { add } = await deployment(api, "one")
  await add("one", "two")

  await recordFailure(api.db, "connect ECONNREFUSED 10.0.0.5:4318")
  const atFirst = await health()
  await api.db.run(sql`update log_forwarding set failing_since = now() - interval '11 minutes'`)

  assert.ok(!without.includes("log_forwarding"))
  assert.match(await metrics(), /^superstep_log_forwarding_unsent_lines 2$/m)
  assert.match(await metrics(), /^superstep_log_forwarding_failing_seconds 66\d/m)
  assert.deepEqual(atFirst, { status: "ok" })
  assert.deepEqual(await health(), {
    status: "ok",
    warnings: ["log forwarding has failed for 11 minutes: see the control plane's log, and check the sink"],
  })
})

test("an address that webhooks may not call is no sink, and neither are malformed headers; a name that leads to one is not called, and that is a failure as any other (L6)", async () => {
  const problemOf = (url: string) => {
    const sink = sinkOf({ logForwardUrl: url, logForwardFormat: "otlp" }) ?? assert.fail("no sink")
    return sinkProblem({ allowsLoopback: false, allowsPrivate: false }, sink)
  }

  assert.match(problemOf("http://127.0.0.1:4318") ?? "", /SUPERSTEP_HOST/)
  assert.match(problemOf("http://10.1.2.3/logs") ?? "", /SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS/)
  assert.match(problemOf("http://169.254.169.254/") ?? "", /169\.254\.169\.254/)
  assert.equal(problemOf("https://collector.example.com"), undefined)
  for (const text of ["a", "a b=c", "content-length=1", "a=%0d%0ax", "a=%zz"]) {
    assert.match(headersProblem(text) ?? "", /name=value/, text)
  }
  assert.equal(headersProblem("a=b, c = d e,"), undefined)

  await using api = await startApi()
  const { add } = await deployment(api, "one")
  await using receiver = await startReceiver()
  const url = `http://localhost:${receiver.port}/`
  await using _forwarder = await startForwarder(api, url, { rules: { allowsLoopback: false, allowsPrivate: false } })

  await add("secret plans")
  const failure = await until(
    async () => (await api.db.row<{ failure: string | null }>(sql`select failure from log_forwarding`))?.failure,
    { what: "the failure is stored" },
  )

  assert.match(failure, /this machine/)
  assert.equal(receiver.calls.length, 0)
})
