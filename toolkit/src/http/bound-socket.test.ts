import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, statSync } from "node:fs"
import { request } from "node:http"
import { type AddressInfo, connect, createServer } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import test from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { bindTcpSocket, bindUnixSocket } from "./bound-socket.js"
import { AddressInUse } from "./listen.js"

/** Serves a socket that it has been given, and answers with a word. */
const program = (word: string) => `
  const server = require("node:http").createServer((_, response) => response.end(${JSON.stringify(word)}))
  server.listen({ fd: 3 }, () => console.log("listens"))
  process.once("SIGTERM", () => server.close(() => process.exit()))
  require("node:child_process").spawn("sleep", ["1000"], { stdio: "ignore" })`

async function serve(path: string, word: string) {
  using socket = await bindUnixSocket(path)
  await assert.rejects(ask(path), { code: "ECONNREFUSED" })
  const stdio = ["ignore", "pipe", "inherit", socket.descriptor] as const
  const child = spawn(process.execPath, ["-e", program(word)], { stdio: [...stdio], detached: true })
  await once(child.stdout as NodeJS.EventEmitter, "data")
  return child
}

const ask = async (socketPath: string): Promise<string> => {
  const asked = request({ socketPath, agent: false }).end()
  const [response] = await once(asked, "response")
  return text(response)
}

test("a process serves a socket that another process bound, and after its exit the next one serves the same path", async (t) => {
  const path = join(temporaryFolder(), "u.sock")

  const first = await serve(path, "first")
  t.after(() => process.kill(-(first.pid ?? 0), "SIGKILL"))
  assert.equal(await ask(path), "first")
  assert.equal(statSync(path).mode & 0o777, 0o600)
  // Only it: what it has started does not keep the socket open.
  first.kill("SIGKILL")
  await once(first, "exit")
  const socket = connect(path)
  await assert.rejects(once(socket, "connect"), { code: "ECONNREFUSED" })

  const second = await serve(path, "second")
  t.after(() => process.kill(-(second.pid ?? 0), "SIGKILL"))
  assert.equal(await ask(path), "second")
  assert.deepEqual(readdirSync(join(path, "..")), ["u.sock"])
  second.kill("SIGTERM")
  await once(second, "exit")
  assert.deepEqual(readdirSync(join(path, "..")), ["u.sock"])
})

test("a path that cannot be bound causes an error that names it", async () => {
  const path = join(temporaryFolder(), "none", "u.sock")

  await assert.rejects(bindUnixSocket(path), /cannot bind .*u\.sock: EACCES|ENOENT/)
})

test("a process serves a port that another process bound, and a port in use is an error", async (t) => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  await assert.rejects(bindTcpSocket({ host: "127.0.0.1", port }), AddressInUse)

  using socket = await bindTcpSocket({ host: "localhost", port: 0 })
  const listening = createServer().listen({ fd: socket.descriptor })
  await once(listening, "listening")
  t.after(() => listening.close())
  assert.notEqual((listening.address() as AddressInfo).port, 0)
})
