/** Who may answer a graph, with real workers: no form of a request gets past the right to approve (decision 94). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { noApprovalUnitHeader, personHeader, unitHeader } from "@superstep/protocol/http/own-headers"
import { personText } from "@superstep/protocol/http/person"
import { graphServerForAll } from "../testing/graph-server.js"

const server = graphServerForAll()
const personOf = (name: string) => ({ person_id: randomUUID(), name, email: `${name}@example.com` })
const [ann, bob] = [personOf("ann"), personOf("bob")]

test("a command in place of the input answers a JavaScript graph only for a person who may approve", async () => {
  const unitToken = server.headers[unitHeader] ?? ""
  const approver = { [unitHeader]: unitToken, [personHeader]: personText(ann) }
  const runner = { [noApprovalUnitHeader]: unitToken, [personHeader]: personText(bob) }
  const { thread_id: threadId } = await server.client.threads.create()
  const ask = async (path: string, body: object, headers: Record<string, string>) => {
    const reply = await fetch(`${server.url}/threads/${threadId}/${path}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    return { status: reply.status, text: await reply.text() }
  }
  const state = async () => {
    const { status, values } = await server.client.threads.get(threadId)
    return [status, values]
  }
  const commandOf = (fields: object) => ({ assistant_id: "hitl", input: { lg_name: "Command", ...fields } })
  const answer = commandOf({ resume: "yes" })

  const asked = await ask("runs/wait", { assistant_id: "hitl", input: { x: 1 } }, runner)
  const refused = await Promise.all([
    ask("runs/wait", answer, runner),
    ask("runs/stream", answer, runner),
    ask("runs", commandOf({ update: { y: "mine" } }), runner),
    ask("runs", commandOf({ goto: ["after"] }), runner),
  ])
  const waiting = await state()
  const answered = await ask("runs/wait", answer, approver)
  const acts = await fetch(`${server.url}/threads/${threadId}/acts`, { headers: server.headers })

  assert.equal(asked.status, 200, asked.text)
  const refusals = refused.map(({ status, text }) => [status, JSON.parse(text).code])
  assert.deepEqual(refusals, Array(4).fill([403, "approval_required"]))
  assert.deepEqual(waiting, ["interrupted", { x: 1 }])
  assert.equal(answered.status, 200, answered.text)
  assert.deepEqual(await state(), ["idle", { x: 4, y: "yes" }])
  assert.deepEqual(
    ((await acts.json()) as { kind: string; person: { name: string } }[]).map(({ kind, person }) => [
      kind,
      person.name,
    ]),
    [
      ["answer", "ann"],
      ["run", "bob"],
    ],
  )
})
