import assert from "node:assert/strict"
import type { RequestListener } from "node:http"
import { join } from "node:path"
import test from "node:test"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { bytesOf, EngineFailed, engineAt } from "./engine.js"

async function engineThat(answers: RequestListener) {
  const server = await socketServer(answers)
  return { engine: engineAt(server.socketPath), [Symbol.dispose]: server[Symbol.dispose] }
}

const failsWith = (pattern: RegExp) => (error: unknown) => error instanceof EngineFailed && pattern.test(error.message)

test("an engine that never answers ends a request with an error that names the request", async () => {
  using it = await engineThat(() => undefined)

  await assert.rejects(
    it.engine.json("/info", { silenceMs: 50 }),
    failsWith(/silent for 0\.05 s during GET \/info: look at its log/),
  )
})

test("an engine that stops in the middle of an answer ends it with an error, by silence or by its end", async () => {
  using it = await engineThat(({ url }, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": 100 })
    response.write("{", () => url === "/dies" && response.destroy())
  })

  await assert.rejects(it.engine.json("/silent", { silenceMs: 50 }), failsWith(/silent for/))
  await assert.rejects(it.engine.json("/dies"), failsWith(/answer broke off \(aborted\)/))
  const streamed = await it.engine.stream("/silent", { silenceMs: lateOnBusyMachineMs })
  await assert.rejects(bytesOf(streamed), failsWith(/silent for/))
})

test("what is no engine, refuses, or is not there is told apart", async () => {
  using it = await engineThat(({ url }, response) => {
    const refuses = url === "/refuses"
    response.writeHead(refuses ? 500 : 200, { "content-type": "application/json" })
    response.end(refuses ? JSON.stringify({ message: "no room" }) : "<html>")
  })

  await assert.rejects(it.engine.json("/other"), failsWith(/no container engine: <html>/))
  await assert.rejects(it.engine.json("/refuses"), failsWith(/GET \/refuses is refused by the engine \(500\): no room/))
  await assert.rejects(
    engineAt(join(temporaryFolder(), "none.sock")).json("/info"),
    failsWith(/no engine answers at .*none\.sock \(ENOENT\): start it, or set SUPERSTEP_DOCKER_SOCKET/),
  )
})
