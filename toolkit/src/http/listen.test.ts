import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync } from "node:fs"
import { readFile, stat, writeFile } from "node:fs/promises"
import { Agent, type IncomingMessage, request } from "node:http"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { Hono } from "hono"
import { runCommand } from "../exec/run-command.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { bindUnixSocket } from "./bound-socket.js"
import { AddressInUse, bind, listen } from "./listen.js"

const app = () => new Hono().get("/hello", (c) => c.text("hello"))
const loopback = { host: "127.0.0.1", port: 0 }

interface Asked {
  port?: number | undefined
  socketPath?: string
  agent?: Agent
  headers?: Record<string, string>
}

async function get(options: Asked, path = "/hello") {
  const sent = request({ host: "127.0.0.1", path, agent: false, ...options }).end()
  const [response] = (await once(sent, "response")) as [IncomingMessage]
  return response
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ""
  for await (const chunk of response) text += chunk
  return text
}

test("a port in use is an error that says what to do", async () => {
  const first = await listen(app().fetch, loopback)

  const second = listen(app().fetch, { host: "127.0.0.1", port: first.port ?? 0 })

  await assert.rejects(
    second,
    (error) => error instanceof AddressInUse && /choose another with --port/.test(error.message),
  )
  await first.close(0)
})

test("only a WebSocket handshake is given to the listener of upgrades: an offer of another protocol is ignored", async () => {
  const upgraded: (string | undefined)[] = []
  const listening = await listen(app().fetch, loopback)
  listening.onUpgrade?.(({ headers }, socket) => {
    upgraded.push(headers.upgrade)
    socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno")
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const offer = async (upgrade: string) => {
    const headers = { connection: "Upgrade", upgrade }
    return textOf(await get({ port: listening.port, agent, headers }))
  }

  const answers = [await offer("h2c"), await offer("TLS/1.0"), await offer("WebSocket")]
  await listening.close(0)

  assert.deepEqual(answers, ["hello", "hello", "no"])
  assert.deepEqual(upgraded, ["WebSocket"])
})

/** Listens on a Unix socket and accepts nothing, as a process that gets no processor for a while. */
const stopped = `
  const { listen } = await import(process.argv[1])
  await listen(() => new Response("hello"), JSON.parse(process.argv[2]))
  process.stdout.write("listens", () => process.kill(process.pid, "SIGSTOP"))`

for (const how of ["bound by itself", "bound by another process"]) {
  test(`a burst of connections to a socket ${how} waits until the process accepts them`, async (t) => {
    const longest = Number(await readFile("/proc/sys/net/core/somaxconn", "utf8").catch(() => "0"))
    if (longest < 1000) return t.skip("the kernel keeps fewer connections waiting, or does not say how many")
    const socketPath = join(temporaryFolder(), "s")
    using bound = how === "bound by itself" ? undefined : await bindUnixSocket(socketPath)
    const address = bound ? { descriptor: 3 } : { socketPath }
    const argv = ["--input-type=module", "-e", stopped, import.meta.resolve("./listen.js"), JSON.stringify(address)]
    const stdio = ["ignore", "pipe", "inherit", bound?.descriptor ?? "ignore"] as const
    const child = spawn(process.execPath, argv, { stdio: [...stdio] })
    await once(child.stdout as NodeJS.EventEmitter, "data")

    // More than Node's usual 511.
    const callers = Array.from({ length: 600 }, () => connect(socketPath))
    await Promise.all(callers.map((caller) => once(caller, "connect"))).finally(() => {
      for (const caller of callers) caller.destroy()
      child.kill("SIGCONT")
    })
    const answer = await textOf(await get({ socketPath }))
    child.kill("SIGKILL")
    await once(child, "exit")

    assert.equal(answer, "hello")
  })
}

test("a socket that somebody takes over as soon as it exists is left as he made it", async () => {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const server = createServer()
  server.once("listening", () => chmodSync(socketPath, 0o600))
  const maskBefore = process.umask()

  await bind(server, { socketPath })

  assert.equal((await stat(socketPath)).mode & 0o777, 0o600)
  assert.equal(process.umask(), maskBefore)
  server.close()
  await once(server, "close")
})

test("a socket is open to other users, and the file of a killed process is replaced", async () => {
  const socketPath = join(temporaryFolder(), "unit.sock")
  const killed = `require("node:net").createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, "SIGKILL"))`
  const argv = [process.execPath, "--eval", killed] as const
  await assert.rejects(runCommand({ argv, cwd: "/", env: {}, timeoutMs: 60_000 }), { killedBy: "SIGKILL" })
  assert.equal((await stat(socketPath)).isSocket(), true)

  const listening = await listen(app().fetch, { socketPath })

  assert.equal(listening.port, undefined)
  assert.equal((await stat(socketPath)).mode & 0o777, 0o666)
  assert.equal(await textOf(await get({ socketPath })), "hello")
  await listening.close(0)
})

test("the socket of a running process is not replaced, and neither is a regular file", async () => {
  const folder = temporaryFolder()
  const socketPath = join(folder, "unit.sock")
  const first = await listen(app().fetch, { socketPath })
  await writeFile(join(folder, "notes"), "mine")

  await assert.rejects(listen(app().fetch, { socketPath }), AddressInUse)
  await assert.rejects(listen(app().fetch, { socketPath: join(folder, "notes") }), AddressInUse)

  assert.equal(await textOf(await get({ socketPath })), "hello")
  await first.close(0)
})

test("close waits for an open stream and then closes its kept-alive connection", async () => {
  const pieces = new TransformStream<Uint8Array, Uint8Array>()
  const writer = pieces.writable.getWriter()
  const listening = await listen(app().get("/stream", () => new Response(pieces.readable)).fetch, loopback)
  const agent = new Agent({ keepAlive: true })
  const response = await get({ port: listening.port, agent }, "/stream")

  const closed = listening.close(60_000)
  await writer.write(new TextEncoder().encode("one "))
  await writer.write(new TextEncoder().encode("two"))
  await writer.close()

  assert.equal(await textOf(response), "one two")
  await closed
  agent.destroy()
})

test("close cuts requests that have not ended after the grace period", async () => {
  const endless = () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([46])) }))
  const listening = await listen(app().get("/stream", endless).fetch, loopback)
  const response = await get({ port: listening.port }, "/stream")

  await listening.close(10)

  await assert.rejects(textOf(response), { code: "ECONNRESET" })
})

/** What a server answers to bytes, until it closes. */
async function answerTo(port: number | undefined, bytes: string): Promise<string> {
  const socket = connect(port ?? 0, "127.0.0.1")
  socket.end(bytes)
  let text = ""
  for await (const chunk of socket) text += chunk
  return text
}

test("malformed and oversized requests get an error reply", async () => {
  const listening = await listen(app().fetch, loopback)
  const long = "x".repeat(20_000)

  const noHttp = await answerTo(listening.port, "what is this?\r\n\r\n")
  const twice = await answerTo(
    listening.port,
    "POST /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
  )
  const longUrl = await answerTo(listening.port, `GET /${long} HTTP/1.1\r\nhost: a\r\n\r\n`)
  const longHeader = await answerTo(listening.port, `GET / HTTP/1.1\r\nhost: a\r\nx-long: ${long}\r\n\r\n`)
  await listening.close(0)

  for (const reply of [noHttp, twice]) assert.match(reply, /^HTTP\/1\.1 400 .*\{"detail":"the request is not HTTP/s)
  for (const reply of [longUrl, longHeader]) assert.match(reply, /^HTTP\/1\.1 431 .*\{"detail":".*16 KB/s)
  for (const reply of [noHttp, twice, longUrl, longHeader])
    assert.match(reply, /"code":"bad_request","doc_url":"docs\/errors\.md#bad_request"/)
})
