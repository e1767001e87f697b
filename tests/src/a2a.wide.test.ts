/** Assistants as agents of A2A, through the official client in both of its languages (agent-server-api §11). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Role, TaskState } from "@a2a-js/sdk"
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { startServerWithDatabase } from "./testing/agent-servers.js"

const config = fileURLToPath(new URL("../graphs/agents.json", import.meta.url))

interface Reply {
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts what a result holds
  readonly result?: any
  readonly error?: { code: number; message: string }
}

test("assistants are agents of A2A", async (t) => {
  await using server = await startServerWithDatabase({ env: { SUPERSTEP_CONFIG: config } })
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    for (const [name, value] of Object.entries(server.headers)) headers.set(name, value)
    return fetch(input, { ...init, headers })
  }
  const cardPath = (assistant: string) => `/a2a/${assistant}/.well-known/agent-card.json`
  const post = async (assistant: string, body: unknown, accept = "application/json") => {
    const init = { method: "POST", body: JSON.stringify(body), headers: { accept, "content-type": "application/json" } }
    const reply = await fetchImpl(`${server.url}/a2a/${assistant}`, init)
    return { status: reply.status, text: await reply.text() }
  }
  const rpc = async (assistant: string, method: string, params: object): Promise<Reply> =>
    JSON.parse((await post(assistant, { jsonrpc: "2.0", id: 7, method, params })).text)
  const say = (parts: object[], over: object = {}) => ({
    message: { role: "user", parts, messageId: randomUUID(), ...over },
  })
  const text = (words: string) => [{ kind: "text", text: words }]
  const officialClient = async (assistant: string, isLegacy: boolean) => {
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: isLegacy } })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    })
    const card = (await (await fetchImpl(`${server.url}${cardPath(assistant)}`)).json()) as {
      supportedInterfaces: { protocolVersion: string }[]
    }
    const wanted = isLegacy ? "0.3" : "1.0"
    card.supportedInterfaces = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === wanted)
    return factory.createFromAgentCard(card as never)
  }
  const message = (words: string) => ({
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text" as const, value: words }, metadata: undefined, filename: "", mediaType: "" }],
    contextId: "",
    taskId: "",
    extensions: [],
    metadata: undefined,
    referenceTaskIds: [],
  })

  await t.test("a card says where and how an assistant is asked", async () => {
    const own = (await (await fetchImpl(`${server.url}${cardPath("chat")}`)).json()) as Record<string, string> & {
      capabilities: { streaming: boolean }
    }
    const named = await (await fetchImpl(`${server.url}/.well-known/agent-card.json?assistant_id=chat`)).json()
    const none = await fetchImpl(`${server.url}${cardPath("nobody")}`)
    const unnamed = await fetchImpl(`${server.url}/.well-known/agent-card.json`)

    assert.deepEqual([own.name, own.description], ["chat", "Says hi."])
    assert.ok(own.url?.startsWith(`${server.url}/a2a/`))
    assert.equal(own.capabilities.streaming, true)
    assert.deepEqual(named, own)
    assert.deepEqual([none.status, unnamed.status], [404, 422])
  })

  for (const isLegacy of [false, true]) {
    await t.test(`the official client of ${isLegacy ? "0.3" : "1.0"} sends, streams and reads tasks`, async () => {
      const client = await officialClient("chat", isLegacy)
      const request = { tenant: "", message: message("hi"), configuration: undefined, metadata: undefined }

      const task = await client.sendMessage(request as never)
      assert.ok("status" in task)
      assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.deepEqual(task.artifacts[0]?.parts[0]?.content, { $case: "text", value: "Hi!" })
      const read = await client.getTask({ tenant: "", id: task.id, historyLength: 1 } as never)
      assert.equal(read.id, task.id)
      assert.deepEqual(fieldsOf(read.history, "role"), [Role.ROLE_AGENT])

      const kinds: (string | undefined)[] = []
      let streamed = ""
      for await (const { payload } of client.sendMessageStream({ ...request, message: message("hi") } as never)) {
        kinds.push(payload?.$case)
        if (payload?.$case !== "artifactUpdate") continue
        const [part] = payload.value.artifact?.parts ?? []
        const piece = part?.content?.$case === "text" ? part.content.value : ""
        streamed = payload.value.append ? streamed + piece : piece
      }
      assert.deepEqual([kinds[0], kinds[1], kinds.at(-1)], ["task", "statusUpdate", "statusUpdate"])
      assert.ok(kinds.includes("artifactUpdate"))
      assert.equal(streamed, "Hi!")
    })
  }

  await t.test("each family of methods has its own words, and one context is one thread", async () => {
    const old = (await rpc("chat", "message/send", say(text("hi")))).result
    const { contextId } = old
    const { task } = (await rpc("chat", "SendMessage", say([{ text: "again" }], { contextId }))).result
    const listed = (await rpc("chat", "ListTasks", { contextId, pageSize: 1 })).result
    const second = (await rpc("chat", "ListTasks", { contextId, pageSize: 1, pageToken: listed.nextPageToken })).result

    assert.deepEqual([old.kind, old.status.state, old.history[0].role], ["task", "completed", "user"])
    assert.match(old.status.timestamp, /\+00:00$/)
    assert.deepEqual(old.artifacts[0].parts, text("Hi!"))
    assert.equal(old.artifacts[0].name, "Assistant Response")
    assert.deepEqual([task.status.state, task.history[0].role], ["TASK_STATE_COMPLETED", "ROLE_USER"])
    assert.deepEqual([task.contextId, task.history.length], [contextId, 4])
    assert.deepEqual([listed.tasks[0].id, second.tasks[0].id, second.nextPageToken], [task.id, old.id, ""])
    const state = await server.client.threads.getState(contextId)
    assert.equal((state.values as { messages: unknown[] }).messages.length, 4)
  })

  await t.test("a graph that asks is a task that waits for input, under the same id until it is answered", async () => {
    const asked = (await rpc("hitl", "message/send", say([{ kind: "data", data: { x: 1 } }]))).result
    const { id: taskId, contextId, status } = asked
    const answered = (await rpc("hitl", "message/send", say(text("yes"), { contextId, taskId }))).result
    const read = (await rpc("hitl", "tasks/get", { id: taskId })).result
    const late = await rpc("hitl", "message/send", say(text("more"), { contextId, taskId }))

    assert.equal(status.state, "input-required")
    assert.match(status.message.parts[0].text, /continue\?/)
    assert.deepEqual([answered.id, answered.contextId, answered.status.state], [taskId, contextId, "completed"])
    assert.deepEqual(answered.artifacts[0].parts, [{ kind: "data", data: { x: 4, y: "yes" } }])
    assert.deepEqual(read, answered)
    assert.equal(late.error?.code, -32004)

    const again = (await rpc("hitl", "message/send", say([{ kind: "data", data: { x: 0 } }]))).result
    const [{ id }] = again.status.message.parts.at(-1).data.interrupts
    const byId = [{ kind: "data", data: { resume: [{ id, value: "four" }] } }]
    const resumed = (await rpc("hitl", "message/send", say(byId, { taskId: again.id }))).result
    assert.deepEqual(resumed.artifacts[0].parts[0].data, { x: 4, y: "four" })
  })

  await t.test("of two clients that answer one question at the same time, one is refused", async () => {
    const { id: taskId } = (await rpc("hitl", "message/send", say([{ kind: "data", data: { x: 1 } }]))).result

    const answers = await Promise.all(
      ["yes", "no"].map((words) => rpc("hitl", "message/send", say(text(words), { taskId }))),
    )

    const ends = answers.map(({ result, error }) => result?.status.state ?? error?.code)
    assert.deepEqual(ends.toSorted(), [-32004, "completed"])
  })

  await t.test("a failing graph is a failed task, a running one can be canceled, once", async () => {
    const failed = (await rpc("error", "message/send", say([{ kind: "data", data: { x: 1 } }]))).result
    assert.equal(failed.status.state, "failed")
    assert.match(failed.status.message.parts[0].text, /TypeError: node exploded/)

    const forever = { configurable: { tick_ms: 600_000 } }
    const { assistant_id } = await server.client.assistants.create({ graphId: "slow", config: forever })
    const begin = { ...say([{ kind: "data", data: { n: 0 } }]), configuration: { blocking: false } }
    const begun = (await rpc(assistant_id, "message/send", begin)).result
    const isWorking = async () =>
      (await rpc(assistant_id, "tasks/get", { id: begun.id })).result.status.state === "working"
    await until(isWorking, { what: "the task works" })
    const busy = await rpc(assistant_id, "message/send", say(text("x"), { taskId: begun.id }))
    const canceled = (await rpc(assistant_id, "tasks/cancel", { id: begun.id })).result
    const twice = await rpc(assistant_id, "tasks/cancel", { id: begun.id })

    assert.ok(["submitted", "working"].includes(begun.status.state))
    assert.equal(busy.error?.code, -32004)
    assert.equal(canceled.status.state, "canceled")
    assert.equal(twice.error?.code, -32002)
  })

  await t.test("what cannot be is refused in JSON-RPC's words", async () => {
    const codeOf = async (assistant: string, method: string, params: object) =>
      (await rpc(assistant, method, params)).error?.code
    const done = (await rpc("chat", "message/send", say(text("hi")))).result

    assert.equal(await codeOf("chat", "message/send", say(text("hi"), { contextId: "no uuid" })), -32602)
    assert.equal(await codeOf("chat", "message/send", { message: {} }), -32602)
    assert.equal(await codeOf("chat", "message/send", say([{ kind: "file", file: { uri: "x" } }])), -32005)
    assert.equal(await codeOf("hitl", "message/send", say(text("hi"))), -32602)
    assert.equal(await codeOf("chat", "message/send", say(text("hi"), { taskId: randomUUID() })), -32001)
    assert.equal(await codeOf("chat", "message/send", say(text("hi"), { taskId: done.id })), -32004)
    assert.equal(await codeOf("chat", "tasks/get", { id: "\u0000" }), -32001)
    assert.equal(await codeOf("hitl", "tasks/get", { id: done.id }), -32001)
    assert.equal(await codeOf("chat", "tasks/get", { id: done.id, historyLength: 11 }), -32602)
    assert.equal(await codeOf("chat", "tasks/get", { id: done.id, historyScope: "task" }), -32004)
    assert.equal(await codeOf("chat", "ListTasks", {}), -32602)
    for (const method of ["tasks/resubscribe", "SubscribeToTask", "tasks/pushNotificationConfig/set", "toString"]) {
      assert.equal(await codeOf("chat", method, {}), -32601, method)
    }
    const request = { jsonrpc: "2.0", id: 1, method: "message/stream", params: say(text("hi")) }
    assert.equal((await post("nobody", request)).status, 404)
    assert.equal((await post("chat", request, "application/json")).status, 400)
    assert.equal((await post("chat", { ...request, method: "tasks/get" }, "text/event-stream")).status, 400)
    assert.equal((await post("chat", { id: 1 })).status, 400)
    assert.match((await post("chat", request, "text/event-stream")).text, /^data: \{"jsonrpc":"2\.0","id":1,/)
  })
})
