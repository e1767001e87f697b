/** Which requests can last, and that each of those sends bytes meanwhile (decisions, agent server 18; docs/decisions/0062). */
import assert from "node:assert/strict"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, type OpenStream, startTestHttp } from "../testing/test-http.js"

/**
 * Routes whose answer comes soon: they read or write a number of rows that does not grow with a thread or a store, call no model, wait for
 * no run, and start no program. A route that is neither here nor has `lasts` fails the test below: decide which it is.
 */
const soon = `
  GET /  GET /docs  GET /info  GET /metrics  GET /ok  GET /openapi.json  GET /queue
  GET /.well-known/agent-card.json  GET /a2a/:assistant_id/.well-known/agent-card.json  DELETE /mcp
  GET /assistants  POST /assistants  POST /assistants/search  POST /assistants/count
  GET /assistants/:assistant_id  PATCH /assistants/:assistant_id
  POST /assistants/:assistant_id/versions  POST /assistants/:assistant_id/latest
  GET /threads/:thread_id  PATCH /threads/:thread_id
  POST /threads/:thread_id/runs  GET /threads/:thread_id/runs  GET /threads/:thread_id/runs/:run_id  POST /runs  POST /runs/batch  POST /runs/search
  GET /threads/:thread_id/runs/:run_id/attempts  GET /threads/:thread_id/runs/:run_id/events
  GET /threads/:thread_id/runs/:run_id/trace  GET /threads/:thread_id/answers  GET /threads/:thread_id/acts
  POST /runs/crons  POST /threads/:thread_id/runs/crons  POST /runs/crons/search  POST /runs/crons/count
  GET /runs/crons/:cron_id  PATCH /runs/crons/:cron_id  DELETE /runs/crons/:cron_id
  GET /store/items  DELETE /store/items
`
  .split(/\s{2,}|\n/)
  .filter((route) => route !== "")

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly "x-lasts"?: string }>>>>
}

const agent = { assistant_id: "agent", input: {} }
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 7, method, params })
const message = (taskId?: string) => ({
  message: { role: "user", messageId: "m", parts: [{ kind: "text", text: "hi" }], ...(taskId && { taskId }) },
})
const toolCall = (meta: object = {}) => rpc("tools/call", { name: "agent", arguments: {}, _meta: meta })
const json = { accept: "application/json" }
const both = { accept: "application/json, text/event-stream" }

test("requests that last", async (t) => {
  await using http = await freshHttp({ keepAliveMs: 5 })
  const { workers } = http.server
  const unanswered: (() => void)[] = []
  // A worker that answers when the test says so.
  workers.answer = () =>
    new Promise((resolve) => {
      const payload = ['{"values":{},"next":[],"tasks":[]}', "{}"].map((line) => Buffer.from(line))
      unanswered.push(() => resolve({ ok: true, fields: { checkpoint: {}, puts: [] }, payload } as never))
    })
  // A graph's own assistant is created by a server with real workers.
  const created = await http.send("POST", "/assistants", { graph_id: "agent", name: "agent" })
  const { assistant_id: assistantId } = created.json as { assistant_id: string }
  const newThread = async () => (await http.send("POST", "/threads", {})).json as { thread_id: string }
  const newRun = async () => {
    const n = workers.started.length
    const { thread_id } = await newThread()
    await http.send("POST", `/threads/${thread_id}/runs`, agent)
    const run = await until(() => workers.started[n], { what: "the run to start" })
    return { run, path: `/threads/${thread_id}/runs/${run.order.runId}` }
  }
  const release = async () => (await until(() => unanswered.shift(), { what: "a call of the worker" }))()
  const finish = async (n: number) => (await until(() => workers.started[n], { what: "a run to start" })).done({})
  /** Starts a request, sees bytes during its work, and reads what is left once the work is done. */
  const meanwhile = async (stream: OpenStream, filler: string, end: () => Promise<void> | void) => {
    assert.equal(stream.status, 200)
    assert.equal(stream.headers.get("cache-control"), "no-cache, no-transform")
    assert.equal(stream.headers.get("x-accel-buffering"), "no")
    await until(() => stream.text().split(filler).length > 3, { what: "bytes while the request lasts" })
    await end()
    await stream.ended
    return stream.text()
  }

  await t.test("each route says whether its answer can last", async () => {
    await using unit = await startTestHttp(http.db, { unitToken: "t" })
    const token = { "x-superstep-unit": "t" }
    const { paths } = (await unit.send("GET", "/openapi.json", undefined, token)).json as Document
    const lasting = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, route]) => route["x-lasts"] !== undefined)
        .map(([method]) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    )
    const routes = unit.routes
      // Those of the supervisor come through no proxy.
      .filter(({ method, path }) => method !== "ALL" && !path.startsWith("/internal/"))
      .map(({ method, path }) => `${method} ${path}`)

    const unknown = [...new Set(routes)].filter((route) => !soon.includes(route) && !lasting.includes(route))
    assert.deepEqual(unknown, [], "a new route: declare `lasts`, or add it to the list of this test")
    const wrong = soon.filter((route) => lasting.includes(route) || !routes.includes(route))
    assert.deepEqual(wrong, [], "this list names routes that last or do not exist")
  })

  await t.test("a wait and a join", async () => {
    const n = workers.started.length
    const wait = await http.stream("POST", "/runs/wait", agent)
    assert.equal((await meanwhile(wait, "\n", () => finish(n))).trimStart(), "{}")

    const { run, path } = await newRun()
    const join = await http.stream("GET", `${path}/join`)
    assert.equal((await meanwhile(join, "\n", () => run.done({}))).trimStart(), "{}")
  })

  await t.test("streams of runs and threads", async () => {
    const { run, path } = await newRun()
    const ofRun = await http.stream("GET", `${path}/stream`)
    const { thread_id } = await newThread()
    const ofThread = await http.stream("GET", `/threads/${thread_id}/stream`)
    const newer = await http.stream("POST", `/threads/${thread_id}/stream/events`, { channels: ["values"] })

    await meanwhile(ofRun, ": heartbeat\n\n", () => run.done({}))
    for (const stream of [ofThread, newer]) await meanwhile(stream, ": heartbeat\n\n", stream.leave)
  })

  await t.test("a cancel that waits", async () => {
    workers.ignoresCancel = true
    const { run, path } = await newRun()

    const cancel = await http.stream("POST", `${path}/cancel?wait=1`)

    const text = await meanwhile(cancel, "\n", () => run.done({ status: "interrupted" }))
    assert.equal(JSON.parse(text), null, "the body of an answer that would be 204")
    workers.ignoresCancel = false
  })

  await t.test("a request that a worker answers", async () => {
    const schemas = await http.stream("GET", `/assistants/${assistantId}/schemas`)

    const text = await meanwhile(schemas, "\n", release)
    assert.equal((JSON.parse(text) as { graph_id: string }).graph_id, "agent")
  })

  await t.test("a call of a tool is an event stream, with progress for a client that asks for it", async () => {
    const n = workers.started.length
    const call = await http.stream("POST", "/mcp", toolCall(), both)
    assert.equal(call.headers.get("content-type"), "text/event-stream")
    const text = await meanwhile(call, ": heartbeat\n\n", () => finish(n))
    const data = /data: (.*)\n\n$/.exec(text)?.[1] ?? ""
    assert.deepEqual(JSON.parse(data), {
      jsonrpc: "2.0",
      id: 7,
      result: { content: [{ type: "text", text: "{}" }], isError: false },
    })

    const asking = await http.stream("POST", "/mcp", toolCall({ progressToken: "p" }), both)
    const progress = await meanwhile(asking, "notifications/progress", () => finish(n + 1))
    const notified = [...progress.matchAll(/data: (.*notifications\/progress.*)\n\n/g)].map(
      ([, line = ""]) => (JSON.parse(line) as { params: { progressToken: string; progress: number } }).params,
    )
    assert.ok(notified.every(({ progressToken }) => progressToken === "p"))
    const counted = notified.map((_, index) => index + 1)
    assert.deepEqual(fieldsOf(notified, "progress"), counted, "the number grows")
  })

  await t.test("a call whose client is cut goes on; one that asks for it is cancelled", async () => {
    const n = workers.started.length
    const started = (index: number) => until(() => workers.started[n + index], { what: "the run to start" })
    const cut = await http.stream("POST", "/mcp", toolCall(), both)
    const first = await started(0)
    const asking = await http.stream("POST", "/mcp", toolCall({ "superstep/on_disconnect": "cancel" }), both)
    const second = await started(1)

    cut.leave()
    asking.leave()

    await until(() => second.isCancelled, { what: "the run of the client that asked for it to be cancelled" })
    assert.equal(first.isCancelled, false)
    first.done({})
  })

  await t.test("a message of A2A, and its stream", async () => {
    const n = workers.started.length
    const sent = http.stream("POST", `/a2a/${assistantId}`, rpc("message/send", message()), json)
    await release()
    const text = await meanwhile(await sent, "\n", () => finish(n))
    assert.equal((JSON.parse(text) as { result: { status: { state: string } } }).result.status.state, "completed")

    const opened = http.stream("POST", `/a2a/${assistantId}`, rpc("message/stream", message()), {
      accept: "text/event-stream",
    })
    await release()
    const stream = await opened
    const events = await meanwhile(stream, ": heartbeat\n\n", () => finish(n + 1))
    assert.match(events, /"state":"completed"/)
  })

  await t.test("a client that sends no Accept header accepts everything", async () => {
    // `fetch` always sends one.
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" }
      const sending = request(`${http.url}${path}`, { method: "POST", headers }).end(JSON.stringify(body))
      return ((await once(sending, "response")) as [IncomingMessage])[0]
    }

    const tool = await post("/mcp", toolCall())
    const task = await post(`/a2a/${assistantId}`, rpc("tasks/get", { id: "none" }))
    const opening = post(`/a2a/${assistantId}`, rpc("message/stream", message()))
    await release()
    const opened = await opening

    const told = [tool, task, opened].map(({ statusCode, headers }) => `${statusCode} ${headers["content-type"]}`)
    assert.deepEqual(told, ["200 application/json", "200 application/json", "200 text/event-stream"])
    for (const each of [tool, task, opened]) each.destroy()
  })

  await t.test("what fails soon keeps its status", async () => {
    await using usual = await startTestHttp(http.db)
    const statusOf = async (method: string, path: string, body?: unknown) =>
      (await usual.send(method, path, body)).status
    const nothing = "00000000-0000-4000-8000-000000000000"

    assert.equal(await statusOf("GET", `/threads/${nothing}/history`), 404)
    assert.equal(await statusOf("POST", `/threads/${nothing}/runs/${nothing}/cancel?wait=1`), 404)
    assert.equal(await statusOf("GET", `/assistants/${nothing}/schemas`), 404)
    assert.equal(await statusOf("POST", "/threads/prune", { thread_ids: 1 }), 422)
  })
})
