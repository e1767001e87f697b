/**
 * Any server serves what concerns a run, wherever it executes; and what it promised holds when that server dies. A suite for two servers of one
 * release, and of two releases.
 */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { send } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { EventClient } from "superstep/prove/event-client"
import { ConversationClient } from "./client.js"
import { conversationOf } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { type InstallationOptions, startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"
import { judge } from "./verdict.js"

const patient = () => AbortSignal.timeout(60_000)

async function json<T>(method: string, url: string, body?: unknown): Promise<T> {
  const headers = { "content-type": "application/json" }
  const response = await fetch(url, {
    method,
    headers,
    signal: patient(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  assert.ok(response.ok, `${method} ${url} answered ${response.status}`)
  return (response.status === 204 || response.status === 202 ? undefined : await response.json()) as T
}

export async function severalServers(t: TestContext, options: InstallationOptions = {}): Promise<void> {
  await using installation = await startInstallation({ ...options, env: { SUPERSTEP_LEASE_SECONDS: "2" } })
  const { db, effectsFile, servers } = installation
  const [one, other] = servers
  assert.ok(one && other)
  /** A conversation whose run executes in the first server, which was asked and had room. */
  const beginAtOne = async (name: string, fields: object = {}) => {
    await installation.untilWhole()
    const conversation = conversationOf({ name, ...fields })
    const atOne = () => (one.isRunning ? one.url : other.url)
    const client = new ConversationClient(conversation, servers, seededRandom(1), atOne)
    const { ended } = await client.begin()
    const [runId = ""] = client.acknowledged
    const { pid } = await untilExecuting(installation, ({ run_id }) => run_id === runId)
    assert.ok(one.workerPids().includes(pid), "the run does not execute in the first server")
    return { client, conversation, ended, runId, path: `/threads/${client.threadId}/runs/${runId}` }
  }
  const facts = (threadId: string) => factsOf(db, readEffects(effectsFile), threadId)

  await t.test("one that joined and one that waits at the other hear of the end although the first dies", async () => {
    const { client, conversation, ended, runId, path } = await beginAtOne("orphaned", { steps: 60 })

    const joined = new EventClient(() => other.url, patient())
    const following = joined.follow({ threadId: client.threadId, runId })
    const waiting = json<{ count: number }>("GET", `${other.url}${path}/join`)
    await until(() => joined.events.length > 4, { what: "the other server tells of the run" })
    await one.kill()
    const [state] = await Promise.all([waiting, following, ended])

    assert.equal(state.count, conversation.steps)
    const seen = { acknowledged: [runId], streams: new Map([[runId, joined.events]]) }
    const after = await facts(client.threadId)
    assert.deepEqual(judge(conversation, after, seen), [])
    assert.deepEqual(judge(conversation, after, client), [])
    assert.equal(after.runs[0]?.attempt, 2)
    assert.equal(joined.connections, 1, "a client of the server that lives had to connect again")
  })

  await t.test("a cancel survives the server that was asked to stop", async () => {
    const { client, ended, runId, path } = await beginAtOne("killed while cancelled", { steps: 400 })

    // It cannot hear of the cancel any more.
    for (const pid of [one.pid ?? 0, ...one.workerPids()]) send(pid, "SIGSTOP")
    await json("POST", `${other.url}${path}/cancel`)
    await one.kill()
    await ended

    const after = await facts(client.threadId)
    assert.equal(after.runs[0]?.status, "interrupted")
    assert.equal(after.runs[0]?.attempt, 1, "a cancelled run was attempted again")
    assert.equal(after.status, "idle")
    assert.equal(client.streams.get(runId)?.at(-1)?.data.status, "interrupted")
  })

  await t.test("a rollback through the other removes the run that the first executes", async () => {
    const { client, ended, path } = await beginAtOne("rolled back", { steps: 400 })

    await json("POST", `${other.url}${path}/cancel?wait=1&action=rollback`)
    await ended

    const after = await facts(client.threadId)
    assert.deepEqual([after.runs, after.checkpoints], [[], []])
    assert.equal((await json<{ status: string }>("GET", `${one.url}/threads/${client.threadId}`)).status, "idle")
  })
}
