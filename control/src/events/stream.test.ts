/** Events over HTTP: pages, and streams through a real socket. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { listen } from "@superstep/toolkit/http/listen"
import { until } from "@superstep/toolkit/testing/until"
import { fromPage, signIn } from "../console/testing/sign-in.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { openEvents } from "./testing/event-source.js"

const start = async () => {
  const stopping = new AbortController()
  const consoleOrigins = ["http://localhost"]
  const api = await startApi({ stopping: stopping.signal, consoleOrigins })
  return { ...api, stopping, consoleOrigins }
}

async function served(api: TestApi) {
  const listening = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  return {
    deploymentId: body.id as string,
    path: `/v2/deployments/${body.id}/events`,
    url: `http://127.0.0.1:${listening.port}/v2/deployments/${body.id}/events`,
    [Symbol.asyncDispose]: () => listening.close(0),
  }
}

const rename = (api: TestApi, deploymentId: string, name: string) =>
  api.call("PATCH", `/v2/deployments/${deploymentId}`, { body: { display_name: name } })

test("events are paged, newest first, or ascending with a cursor that stays valid (E2)", async () => {
  await using api = await start()
  await using server = await served(api)
  for (const name of ["a", "b"]) await rename(api, server.deploymentId, name)

  const newest = (await api.call("GET", `${server.path}?limit=3`)).body
  const oldest = (await api.call("GET", `${server.path}?limit=3&cursor=${newest.next_cursor}`)).body
  const upwards = (await api.call("GET", `${server.path}?order=asc&limit=100`)).body
  await rename(api, server.deploymentId, "c")
  const then = (await api.call("GET", `${server.path}?order=asc&cursor=${upwards.next_cursor}`)).body

  const seqs = [...newest.resources, ...oldest.resources].map(({ seq }: { seq: number }) => seq)
  assert.deepEqual(
    seqs.toReversed(),
    upwards.resources.map(({ seq }: { seq: number }) => seq),
  )
  assert.deepEqual([oldest.next_cursor, then.resources.length, then.resources[0].type], [null, 1, "deployment.updated"])
})

test("two followers get the same live events; after a reconnect none is missed or repeated (E3)", async () => {
  await using api = await start()
  await using server = await served(api)
  const headers = { "x-api-key": api.apiKey }
  const one = await openEvents(server.url, headers)
  const other = await openEvents(`${server.url}?follow=true`, { ...headers, accept: "*/*" })
  await until(() => one.events.length === 2 && other.events.length === 2, { what: "both know the past" })

  await rename(api, server.deploymentId, "a")
  await until(() => one.events.length === 3 && other.events.length === 3, { what: "both heard of the change" })
  other.close()
  await rename(api, server.deploymentId, "b")
  await until(() => one.events.length === 4, { what: "the first heard of the next" })
  const back = await openEvents(server.url, { ...headers, "last-event-id": other.events.at(-1)?.id ?? "" })
  await until(() => back.events.length === 1, { what: "the other has what it missed" })

  assert.deepEqual([...other.events, ...back.events], one.events)
  assert.ok(one.events.every(({ id, event, data }) => id === String(data.seq) && event === data.type))
  one.close()
  back.close()
})

test("a stream ends with its deployment, and with the process", async () => {
  await using api = await start()
  await using server = await served(api)
  const headers = { "x-api-key": api.apiKey }
  const follower = await openEvents(server.url, headers)
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment("other") })
  const stopped = await openEvents(server.url.replace(server.deploymentId, body.id), headers)

  await api.db.run(sql`delete from deployments where deployment_id = ${server.deploymentId}`)
  await until(() => follower.hasEnded, { what: "the stream of the deleted one ends" })
  api.stopping.abort()
  await until(() => stopped.hasEnded, { what: "the stream ends with the process" })

  assert.equal(follower.events.at(-1)?.event, "deployment.deleted")
  assert.equal(
    stopped.events.some(({ event }) => event === "deployment.deleted"),
    false,
  )
})

test("a stream ends when its key is revoked", async () => {
  await using api = await start()
  await using server = await served(api)
  const { body: made } = await api.call("POST", "/v2/api-keys", { body: { name: "ci", scopes: ["read"] } })
  const follower = await openEvents(server.url, { "x-api-key": made.key })
  await until(() => follower.events.length === 2, { what: "it knows the past" })

  await api.call("DELETE", `/v2/api-keys/${made.id}`)
  await rename(api, server.deploymentId, "secret plan")
  await until(() => follower.hasEnded, { what: "the stream ends" })

  assert.equal(follower.events.length, 2)
})

test("a stream of a session goes on, and ends when the person signs out", async () => {
  await using api = await start()
  await using server = await served(api)
  api.consoleOrigins.push(new URL(server.url).origin)
  const cookie = await signIn(api, api.apiKey)
  const follower = await openEvents(server.url, { cookie })
  await until(() => follower.events.length === 2, { what: "it knows the past" })

  await rename(api, server.deploymentId, "a")
  await until(() => follower.events.length === 3, { what: "it goes on" })
  await api.call("DELETE", "/v2/console/session", fromPage(cookie))
  await rename(api, server.deploymentId, "secret plan")
  await until(() => follower.hasEnded, { what: "the stream ends" })

  assert.equal(follower.events.length, 3)
})

test("a stream does not use its session, and ends when nobody used it for 12 hours (C1)", async () => {
  await using api = await start()
  await using server = await served(api)
  api.consoleOrigins.push(new URL(server.url).origin)
  const follower = await openEvents(server.url, { cookie: await signIn(api, api.apiKey) })
  await until(() => follower.events.length === 2, { what: "it knows the past" })
  const age = (hours: number) =>
    api.db.run(sql`update console_sessions set last_used_at = now() - make_interval(hours => ${hours})`)
  const idle = () =>
    api.db.row<{ long: boolean }>(sql`
    select last_used_at < now() - interval '10 hours' as long from console_sessions`)

  await age(11)
  await rename(api, server.deploymentId, "a")
  await until(() => follower.events.length === 3, { what: "it goes on" })
  const afterCheck = await idle()
  await age(12)
  await rename(api, server.deploymentId, "secret plan")
  await until(() => follower.hasEnded, { what: "the stream ends" })

  assert.deepEqual([afterCheck?.long, follower.events.length], [true, 3])
})

test("a request that gets no stream is refused before it begins (E4), and a proxy in front neither collects nor compresses one", async () => {
  await using api = await start()
  await using server = await served(api)
  const accept = { accept: "text/event-stream" }

  const foreign = await api.callAsOther("GET", server.path, { headers: accept })
  const list = await api.callAsOther("GET", server.path)
  const broken = await api.call("GET", server.path, { headers: { ...accept, "last-event-id": "-1" } })
  const malformed = await api.call("GET", `${server.path}?cursor=x&order=up&limit=0`)

  assert.deepEqual([foreign.status, list.status, broken.status, malformed.status], [404, 404, 422, 422])
  assert.equal(malformed.body.detail.length, 3)

  const leave = new AbortController()

  const headers = { "x-api-key": api.apiKey, accept: "text/event-stream" }
  const response = await fetch(server.url, { headers, signal: leave.signal })
  leave.abort()

  assert.equal(response.headers.get("x-accel-buffering"), "no")
  assert.equal(response.headers.get("cache-control"), "no-cache, no-transform")
})
