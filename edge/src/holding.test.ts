import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import test from "node:test"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { createHolding } from "./holding.js"
import { edgeWithUnit, readBody, route, startControl, withKey } from "./testing/harness.js"

/** An edge whose one deployment sleeps, and a control plane that records the deployments to wake. */
async function sleepingEdge(env: Record<string, string> = {}) {
  const setup = await edgeWithUnit(async (request, response) => {
    response.end(await readBody(request))
  }, env)
  await setup.edge.take({ generation: 2, routes: [route("chat", [], { state: "held" })] })
  const control = startControl(setup.edge.wakeAddress)
  const wake = () => setup.edge.take({ generation: 3, routes: [route("chat", [setup.unit.unit])] })
  const dispose = async () => {
    control.close()
    await setup[Symbol.asyncDispose]()
  }
  return { ...setup, ...control, wake, [Symbol.asyncDispose]: dispose }
}

const post = (url: string, body: string, signal: AbortSignal | null = null) =>
  fetch(`${url}/runs/stream`, { method: "POST", headers: withKey, body, signal })

test("requests for a sleeping deployment wait, wake it once, and are answered; those without a key and health checks do not", async () => {
  await using setup = await sleepingEdge()
  await setup.hear()

  const health = await fetch(`${setup.chat}/ok`)
  const stranger = await fetch(`${setup.chat}/threads`)
  const callsBefore = [...setup.calls]
  const waiting = ["one", "two", "three"].map((body) => post(setup.chat, body))
  await until(() => setup.calls.length > 0, { what: "the control plane is asked" })
  await setup.wake()

  const answers = await Promise.all(waiting)
  assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), ["one", "two", "three"])
  assert.deepEqual([health.status, await health.json(), stranger.status], [200, { ok: true }, 401])
  assert.equal(health.headers.get("x-revision-id"), "revision-1")
  assert.deepEqual([callsBefore, setup.calls], [[], ["POST /wake/deployment-of-chat"]])
})

test("a control plane that was unreachable is asked again when it is back", async () => {
  await using setup = await sleepingEdge()

  const waiting = post(setup.chat, "patient")
  await until(() => setup.edge.hasLogged("the control plane could not be asked to wake a deployment"), {
    what: "a try",
  })
  await setup.hear()
  await until(() => setup.calls.length > 0, { what: "it is asked again" })
  await setup.wake()

  assert.equal(await (await waiting).text(), "patient")
})

test("waiting time and number of waiting requests are limited, and callers that leave free their place", async () => {
  await using setup = await sleepingEdge({ SUPERSTEP_EDGE_MOST_HELD: "1", SUPERSTEP_EDGE_HOLD_SECONDS: "8" })
  await setup.hear()
  const leaver = new AbortController()
  const left = post(setup.chat, "leaves", leaver.signal)
  await until(() => setup.calls.length === 1, { what: "the first one waits" })

  const refused = await post(setup.chat, "one too many")
  leaver.abort()
  await assert.rejects(left)
  const waits = async () => {
    const answer = await post(setup.chat, "late")
    const body = (await answer.json()) as { code: string; detail: string }
    return /too many/.test(body.detail) ? undefined : { status: answer.status, ...body }
  }
  const late = await until(waits, { what: "there is room" })

  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get("retry-after"), "2")
  assert.deepEqual([late.status, late.code], [503, "waking"])
  assert.match(late.detail, /did not wake up in time/)
})

test("a WebSocket waits as well, what its caller sends is kept, and one that leaves frees its place", async () => {
  await using setup = await sleepingEdge({ SUPERSTEP_EDGE_MOST_HELD: "2" })
  await setup.hear()
  const frames = new Promise<string>((resolve) => {
    setup.unit.server.on("upgrade", (_, socket, head) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
      if (head.length > 0) socket.unshift(head)
      socket.once("data", (chunk) => {
        resolve(String(chunk))
        socket.end()
      })
    })
  })
  const ask = () => {
    const socket = connect(setup.edge.port, "127.0.0.1")
    socket.on("error", () => undefined)
    const lines = ["GET /d/chat/ws HTTP/1.1", "host: a", `x-api-key: ${withKey["x-api-key"]}`, "connection: upgrade"]
    socket.write(`${lines.join("\r\n")}\r\nupgrade: websocket\r\n\r\n`)
    return socket
  }
  const isFull = async () => {
    const probe = await post(setup.chat, "one too many", AbortSignal.timeout(lateOnBusyMachineMs)).catch(
      () => undefined,
    )
    await probe?.body?.cancel()
    return probe?.status === 503
  }
  const [patient, leaver] = [ask(), ask()]
  // Answered after them.
  for (const _ of [1, 2]) await (await fetch(`${setup.chat}/ok`)).body?.cancel()
  assert.ok(await isFull())

  leaver.end()
  await once(leaver, "close")
  await until(async () => !(await isFull()), { what: "there is room" })
  patient.write("early frames")
  await setup.wake()

  assert.equal(await frames, "early frames")
  patient.destroy()
})

test("waiting requests for one deployment do not use up the places of others", async () => {
  await using setup = await sleepingEdge({ SUPERSTEP_EDGE_MOST_HELD_EACH: "1", SUPERSTEP_EDGE_MOST_HELD: "2" })
  await setup.hear()
  const held = (name: string) => route(name, [], { state: "held" })
  await setup.edge.take({ generation: 3, routes: [held("chat"), held("other")] })

  const first = post(setup.chat, "one")
  await until(() => setup.calls.length === 1, { what: "the first one waits" })
  const second = await post(setup.chat, "two")
  const other = post(`${setup.edge.url}/d/other`, "of another deployment")
  await until(() => setup.calls.length === 2, { what: "the one of another deployment waits" })
  const awake = ["chat", "other"].map((name) => route(name, [setup.unit.unit]))
  await setup.edge.take({ generation: 4, routes: awake })

  assert.equal(second.status, 503)
  assert.match(((await second.json()) as { detail: string }).detail, /too many requests wait/)
  assert.deepEqual([(await first).status, (await other).status], [200, 200])
})

test("a request whose caller has already left does not wait (H2)", async () => {
  const holding = createHolding({
    holdMs: 600_000,
    mostHeld: 1,
    mostHeldEach: 1,
    wake: async () => undefined,
    log: silent,
  })
  const held = route("chat", [], { state: "held" })

  assert.equal(await holding.wait(held, AbortSignal.abort()), undefined)
  assert.equal(await holding.wait(held, AbortSignal.abort()), undefined, "the place is free again")
})
