/** Graphs that wait for a person, as the official client sees them between the questions. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { startAgentServer } from "./testing/agent-servers.js"

const config = fileURLToPath(new URL("../graphs/quick.json", import.meta.url))

interface Waiting {
  readonly __interrupt__?: readonly { readonly value: unknown }[]
  readonly out?: readonly string[]
}

test("a node that asks twice waits twice", async () => {
  await using db = await freshDatabase()
  await using server = await startAgentServer({ databaseUri: db.uri, env: { SUPERSTEP_CONFIG: config } })
  const { client } = server
  const { thread_id } = await client.threads.create()
  const ask = async (payload: object) => (await client.runs.wait(thread_id, "twice", payload)) as Waiting
  const questions = ({ __interrupt__ }: Waiting) => __interrupt__?.map(({ value }) => value)
  const threadStatus = async () => (await client.threads.get(thread_id)).status

  const first = await ask({ input: { out: [] } })
  const second = await ask({ command: { resume: "A" } })
  const statusBetween = await threadStatus()
  const waiting = await client.threads.search({ status: "interrupted" })
  const [run] = await client.runs.list(thread_id)
  const end = await ask({ command: { resume: "B" } })

  assert.deepEqual([questions(first), questions(second)], [[{ q: "first?" }], [{ q: "second?" }]])
  assert.deepEqual([statusBetween, run?.status], ["interrupted", "interrupted"])
  assert.deepEqual(
    waiting.map((thread) => thread.thread_id),
    [thread_id],
  )
  assert.deepEqual([end.out, questions(end), await threadStatus()], [["A, B"], undefined, "idle"])
})
