/** A watch of a unit (unit-watch.ts), and what hangs. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { askStatus, hangs } from "./unit-client.js"
import type { UnitAddress } from "./unit-request.js"
import { type UnitState, watchUnit } from "./unit-watch.js"

const never = new AbortController().signal

const report = {
  revision_id: null,
  pid: 1,
  ready: true,
  graphs: [],
  failed: [],
  serving: true,
  running_runs: 0,
  open_streams: 0,
}

/** A unit with a short queue of connections. */
const program = `
  const answer = (_, response) => response.end(${JSON.stringify(JSON.stringify(report))})
  require("node:http").createServer(answer).listen({ path: process.argv[1], backlog: 1 }, () => console.log("listens"))`

/** A stopped unit, which accepts nothing, with its queue full of callers. */
async function unitWithFullQueue() {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const child = spawn(process.execPath, ["-e", program, socketPath], { stdio: ["ignore", "pipe", "inherit"] })
  await once(child.stdout, "data")
  child.kill("SIGSTOP")
  const callers: Socket[] = []
  for (;;) {
    const caller = connect(socketPath)
    const refused = await Promise.race([once(caller, "connect").then(() => undefined), once(caller, "error")]).catch(
      (error: NodeJS.ErrnoException) => error,
    )
    if (refused !== undefined) break
    callers.push(caller)
  }
  const close = async () => {
    for (const caller of callers) caller.destroy()
    child.kill("SIGKILL")
    await once(child, "exit")
  }
  const goOn = () => {
    for (const caller of callers) caller.destroy()
    child.kill("SIGCONT")
  }
  return { address: { address: unixAddress(socketPath), token: new Secret("t") }, goOn, [Symbol.asyncDispose]: close }
}

/** What a watch reports until its end. */
async function watched(address: UnitAddress, hangMs: number, signal = never): Promise<UnitState[]> {
  const states: UnitState[] = []
  await watchUnit(address, { hangMs, signal, onState: (state) => states.push(state) })
  return states
}

/** A unit with given answers. */
async function unitThat(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await socketServer(answer)
  t.after(() => server[Symbol.dispose]())
  return { address: unixAddress(server.socketPath), token: new Secret("t") }
}

const lineOf = (change: object = {}) => `${JSON.stringify({ ...report, ...change })}\n`

test("a unit whose connection queue stays full hangs, and one without a socket", async () => {
  await using unit = await unitWithFullQueue()

  const seen = [
    (await watched(unit.address, 400)).at(-1)?.answer,
    await askStatus(unit.address, AbortSignal.timeout(200)),
    await hangs(unit.address, 200),
    await hangs({ ...unit.address, address: unixAddress(join(temporaryFolder(), "none.sock")) }, 60_000),
  ]

  assert.deepEqual(seen, ["hung", undefined, true, true])
})

test("a unit that is too busy for its status does not count as hung", async (t) => {
  const address = await unitThat(t, (request, response) => {
    if (request.url === "/internal/live") response.end()
  })

  const seen = [(await watched(address, 4000)).at(-1)?.answer, await hangs(address, 60_000)]

  assert.deepEqual(seen, ["silent", false])
})

test("a unit of an older release, which answers once and ends its reply, is watched too", async (t) => {
  const address = await unitThat(t, (_, response) => response.end(JSON.stringify({ ...report, ready: false })))

  const states = await watched(address, 60_000)

  const seen = states.map(({ answer, report }) => [answer, report?.ready])
  assert.deepEqual(seen, [["not ready", false]])
})

test("a watch reports each change; heartbeats keep a unit from being silent, and then it is asked whether it is alive (UW1)", async (t) => {
  let stream: ServerResponse | undefined
  const address = await unitThat(t, (request, response) => {
    if (request.url === "/internal/live") return response.end()
    stream = response
    response.write(lineOf({ ready: false }))
  })
  const states: UnitState[] = []
  const ended = watchUnit(address, { hangMs: 4000, signal: never, onState: (state) => states.push(state) })
  const answers = () => states.map(({ answer }) => answer)

  await until(() => answers().at(-1) === "not ready", { what: "its first status" })
  let sent = 0
  const heartbeats = setInterval(() => {
    stream?.write("\n")
    sent++
  }, 50)
  await until(() => sent > 44, { what: "heartbeats, for longer than it may be silent" })
  const meanwhile = answers()
  stream?.write(lineOf().slice(0, 20))
  stream?.write(lineOf().slice(20))
  await until(() => answers().at(-1) === "ready", { what: "its next status" })
  clearInterval(heartbeats)
  await ended

  assert.deepEqual(meanwhile, ["not ready"])
  assert.deepEqual(answers(), ["not ready", "ready", "silent"])
})

test("a unit that sends more than it should costs little, and one that refuses is not ready (UW2)", async (t) => {
  const address = await unitThat(t, (_, response) => {
    response.write(lineOf({ running_runs: 1 }) + lineOf({ running_runs: 2 }) + lineOf({ running_runs: 3 }))
    response.end("x".repeat(5 * 1024 * 1024))
  })
  const refusing = await unitThat(t, (_, response) => response.writeHead(503).end("{}"))

  const [states, refused] = [await watched(address, 60_000), await watched(refusing, 60_000)]

  const counts = states.map(({ report }) => report?.running_runs)
  assert.deepEqual(counts, [3])
  assert.deepEqual(refused, [{ answer: "not ready", report: undefined }])
})

test("a unit whose queue was full is asked again as soon as there is room", async () => {
  await using unit = await unitWithFullQueue()

  const asked = watched(unit.address, 60_000)
  unit.goOn()

  assert.equal((await asked).at(-1)?.answer, "ready")
  assert.equal(await hangs(unit.address, 60_000), false)
})
