import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { askReadiness, askRuns, askStatus, hangs } from "./unit-client.js"

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

/** A unit whose queue of connections is short. */
const program = `
  const answer = (_, response) => response.end(${JSON.stringify(JSON.stringify(report))})
  require("node:http").createServer(answer).listen({ path: process.argv[1], backlog: 1 }, () => console.log("listens"))`

/** Stopped, so that it accepts nothing, with as many callers as its queue takes. */
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
  return { address: { socketPath, token: new Secret("t") }, goOn, [Symbol.asyncDispose]: close }
}

test("a unit that takes no connection because its queue is full is silent, and hangs if that lasts", async () => {
  await using unit = await unitWithFullQueue()

  const seen = [
    await askReadiness(unit.address, 200),
    await askStatus(unit.address, AbortSignal.timeout(200)),
    await hangs(unit.address, 200),
  ]

  assert.deepEqual(seen, ["silent", undefined, true])
})

test("a unit that is too busy for its status does not hang", async () => {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const server = createServer((request, response) => {
    if (request.url === "/internal/live") response.end()
  })
  server.listen(socketPath)
  await once(server, "listening")
  const address = { socketPath, token: new Secret("t") }

  const seen = [await askReadiness(address, 200), await hangs(address, 60_000)]
  server.closeAllConnections()
  server.close()

  assert.deepEqual(seen, ["silent", false])
})

test("a unit whose queue was full is asked as soon as there is room", async () => {
  await using unit = await unitWithFullQueue()

  const asked = askReadiness(unit.address, 60_000)
  unit.goOn()

  assert.equal(await asked, "ready")
  assert.equal(await hangs(unit.address, 60_000), false)
})

test("numbers that a project's app makes up, or never ends to send, are no numbers", async (t) => {
  const socketPath = join(temporaryFolder(), "unit.sock")
  let answer = (_: ServerResponse): unknown => undefined
  const server = createServer((_, response) => answer(response)).listen(socketPath)
  t.after(() => server.close())
  await once(server, "listening")
  const address = { socketPath, token: new Secret("t") }
  const counts = (pending: string) =>
    `superstep_runs{status="pending"} ${pending}\nsuperstep_runs{status="running"} 2\n`

  answer = (response) => response.end(counts("1"))
  assert.deepEqual(await askRuns(address), { pending: 1, active: 2 })
  answer = (response) => response.end(counts("99999999999"))
  assert.equal(await askRuns(address), undefined)
  let sent = 0
  answer = (response) => {
    const block = Buffer.alloc(1024 * 1024)
    const send = () => {
      if (response.destroyed) return
      sent += block.length
      response.write(block)
    }
    response.on("drain", send)
    send()
  }
  assert.equal(await askRuns(address), undefined)
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were read`)
})
