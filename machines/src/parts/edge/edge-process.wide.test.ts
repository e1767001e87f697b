/** An edge is replaced by one with other settings, or of another release, while requests and streams go on. */
import assert from "node:assert/strict"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { Agent, request as httpRequest, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import test from "node:test"
import { connect, type TLSSocket } from "node:tls"
import { edgeStatus, startSuccessor } from "@superstep/edge/client"
import { gate, route, startUnit, withKey } from "@superstep/edge/testing/harness"
import { unixAddress } from "@superstep/protocol/http/address"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import type { TlsFiles } from "@superstep/toolkit/http/tls-files"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { machineFolders } from "../files/folders.js"
import { isolatedUser } from "../isolation/isolation.js"
import { edgeToken, prepareEdgeFolders } from "./edge-folders.js"
import { type EdgeOptions, edgeOnThisMachine } from "./edge-process.js"

async function setUp() {
  const finish = gate()
  const folder = temporaryFolder()
  const unit = await startUnit(folder, "u1", async (request, response) => {
    if (request.url !== "/stream") return void response.end("answer")
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write("data: 1\n\n")
    await finish.passed
    response.end("data: 2\n\n")
  })
  const folders = machineFolders(folder)
  await prepareEdgeFolders(folders, undefined, undefined)
  const port = await freePort()
  const token = await edgeToken(folders)
  const edge = (change: Partial<EdgeOptions> = {}) =>
    edgeOnThisMachine({
      folders,
      token,
      user: undefined,
      host: "127.0.0.1",
      port,
      logLevel: "info",
      trustedProxies: "",
      environment: process.env,
      log,
      drainMs: 60_000,
      hangMs: 60_000,
      ...change,
    })
  const identity = () => JSON.parse(readFileSync(join(folders.edge, "pid.json"), "utf8")) as ProcessIdentity
  const tableOf = (generation: number) => ({ generation, routes: [route("chat", [unit.unit])] })
  /** Starts an edge with a table. @returns  its process */
  const serving = async (generation: number, change: Partial<EdgeOptions> = {}) => {
    await edge(change).ensure()
    await edge(change).push(tableOf(generation))
    return identity()
  }
  const dispose = async () => {
    await edge().stop()
    await unit.close()
  }
  return { folders, token, edge, identity, tableOf, serving, finish, [Symbol.asyncDispose]: dispose }
}

test("an edge hands over under requests and a stream: none fails, none is cut, and the former ends after them", async () => {
  await using setup = await setUp()
  const { edge, folders, tableOf } = setup
  const former = await setup.serving(1)
  const chat = `${edge().url}/d/chat`
  const patient = new Agent({ keepAlive: true })
  const events = (await send(`${chat}/stream`, patient))[Symbol.asyncIterator]()
  const nextEvent = async () => (await events.next()).value?.toString()
  assert.equal(await nextEvent(), "data: 1\n\n")
  let isOver = false
  const answers: string[] = []
  const keepAsking = async (agent: Agent) => {
    while (!isOver) answers.push(await ask(`${chat}/x`, agent).catch((error: unknown) => String(error)))
    agent.destroy()
  }
  const callers = [true, true, false, false].map((keepAlive) => keepAsking(new Agent({ keepAlive, maxSockets: 1 })))

  const next = edge({ logLevel: "debug" })
  await next.ensure()
  const [seen, asked] = [answers.length, answers.length + 50]
  await until(() => answers.length > asked, { what: "requests are answered after the hand-over" })
  await next.push(tableOf(2))
  // On a busy machine a former edge may be too late to be counted.
  await until(async () => (await next.status()).units.u1?.streams === 1, { what: "the former's stream is counted" })
  isOver = true
  await Promise.all(callers)

  assert.ok(seen > 0)
  assert.deepEqual([...new Set(answers)], ["200 answer"])
  assert.notEqual(setup.identity().pid, former.pid)
  assert.ok(await isAlive(former))
  setup.finish.open()
  assert.equal(await nextEvent(), "data: 2\n\n")
  assert.equal(await nextEvent(), undefined)
  // Its connection was kept alive when the stream started, and its client may still use it.
  patient.destroy()
  await until(async () => !(await isAlive(former)), { what: "the former edge has ended" })
  await next.ensure()
  assert.deepEqual(readdirSync(join(folders.edge, "retired")), [])
  assert.ok(!existsSync(join(folders.edgeSockets, `${former.pid}.sock`)))
})

test("an edge that is as it should be is kept, and one that was killed is started again with its table", async () => {
  await using setup = await setUp()
  const { edge } = setup
  const first = await setup.serving(7)

  await edge().ensure()
  assert.equal(setup.identity().pid, first.pid)
  process.kill(first.pid, "SIGKILL")
  await until(async () => !(await isAlive(first)), { what: "it is dead" })
  const again = edge()
  const isReady = async () => (await again.tables()).map((it) => it.isReady)
  await assert.rejects(again.status())
  assert.deepEqual(await isReady(), [false])
  await Promise.all([again.ensure(), again.ensure()])

  assert.notEqual(setup.identity().pid, first.pid)
  assert.equal((await again.status()).generation, 7)
  assert.deepEqual(await isReady(), [true])
  assert.equal(await ask(`${edge().url}/d/chat/x`, new Agent()), "200 answer")
})

test("an edge that hands over for too long is ended, and so is each when the installation stops", async () => {
  await using setup = await setUp()
  const { edge } = setup
  const former = await setup.serving(1)
  const stream = await fetch(`${edge().url}/d/chat/stream`, { headers: withKey })
  await edge({ logLevel: "debug" }).ensure()
  assert.ok(await isAlive(former))

  await edge({ logLevel: "debug", drainMs: -1 }).ensure()

  assert.ok(!(await isAlive(former)))
  await assert.rejects(stream.text())
  setup.finish.open()
})

test("an edge that hands over and hangs keeps no table from the one that serves", async () => {
  await using setup = await setUp()
  const { edge, finish, folders, token } = setup
  const former = await setup.serving(1)
  const stream = await fetch(`${edge().url}/d/chat/stream`, { headers: withKey })
  const next = edge({ logLevel: "debug" })
  await next.ensure()
  process.kill(former.pid, "SIGSTOP")
  // If this request has timed out by the time the others return, they waited for the hanging edge.
  let isGivenUp = false
  const waiting = edgeStatus({ address: unixAddress(join(folders.edgeSockets, `${former.pid}.sock`)), token }).catch(
    () => {
      isGivenUp = true
    },
  )

  await next.push({ generation: 2, routes: [] })
  const { generation } = await next.status()
  await next.ensure()
  assert.equal(isGivenUp, false, "somebody waited for the one that hangs")
  process.kill(former.pid, "SIGCONT")
  await waiting

  assert.equal(generation, 2)
  assert.equal((await fetch(`${next.url}/d/chat/x`, { headers: withKey })).status, 404)
  finish.open()
  assert.match(await stream.text(), /data: 2/)
})

test("what an edge that hands over and hangs still carries is counted, or is known to be unknown", async () => {
  await using setup = await setUp()
  const { edge, finish } = setup
  const former = await setup.serving(1)
  const stream = await fetch(`${edge().url}/d/chat/stream`, { headers: withKey })
  const next = edge({ logLevel: "debug" })
  await next.ensure()
  // On a busy machine a former edge may be too late to be counted.
  const isCounted = async () => (await next.status()).units.u1?.streams === 1
  await until(isCounted, { what: "the former's stream is counted" })
  process.kill(former.pid, "SIGSTOP")

  // The second is asked while the first is unanswered.
  const hanging = [await next.status(), await next.status()]
  // As after a restart of the control plane.
  const unknown = await edge({ logLevel: "debug" }).status()
  process.kill(former.pid, "SIGCONT")
  finish.open()
  assert.match(await stream.text(), /data: 2/)
  await edge({ logLevel: "debug", drainMs: -1 }).ensure()
  const after = await next.status()

  for (const { units, silent } of hanging) assert.deepEqual([units.u1?.streams, silent], [1, []])
  assert.deepEqual(unknown.silent, [`retired ${former.pid}`])
  assert.deepEqual([after.units.u1?.streams, after.silent], [0, []])
})

test("an edge that lives and answers nothing is ended, and another one has its table", async () => {
  await using setup = await setUp()
  const edge = setup.edge({ hangMs: 0 })
  const first = await setup.serving(3)

  process.kill(first.pid, "SIGSTOP")
  await edge.ensure()
  assert.equal(setup.identity().pid, first.pid, "nobody has asked it anything")
  await assert.rejects(edge.status(), /does not answer/)
  await edge.ensure()

  assert.ok(!(await isAlive(first)))
  assert.equal((await edge.status()).generation, 3)
  assert.equal(await ask(`${edge.url}/d/chat/x`, new Agent()), "200 answer")
})

test("a successor that nobody has heard of is ended before another one is started", async () => {
  await using setup = await setUp()
  await setup.edge().ensure()
  // The state after a kill between the start of a successor and its first answer.
  const mute = { argv: [process.execPath, "-e", "setInterval(() => {}, 1000)"], env: {}, cwd: setup.folders.edge }
  writeFileSync(join(setup.folders.edge, "successor.json"), JSON.stringify(mute))
  const admin = { address: unixAddress(join(setup.folders.edgeSockets, "admin.sock")), token: setup.token }
  const lost = await identify(await startSuccessor(admin))
  assert.ok(lost)

  await setup.edge({ logLevel: "debug" }).ensure()

  assert.ok(!(await isAlive(lost)))
  assert.notEqual(setup.identity().pid, lost.pid)
})

for (const [point, alsoDies] of [
  ["edge:after-rename", false],
  ["edge:after-successor", false],
  ["edge:after-successor", true],
] as const)
  test(`killed at ${point}${alsoDies ? " with the successor" : ""}, and started with the former settings again: each edge gets tables, and no stream is cut`, async () => {
    await using setup = await setUp()
    const former = await setup.serving(1)
    const patient = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.equal(await ask(`${setup.edge().url}/d/chat/x`, patient), "200 answer")
    const stream = await fetch(`${setup.edge().url}/d/chat/stream`, { headers: withKey })
    const crashPoint = (at: string) => assert.notEqual(at, point)
    await assert.rejects(setup.edge({ logLevel: "debug", crashPoint }).ensure())
    const admin = { address: unixAddress(join(setup.folders.edgeSockets, "admin.sock")), token: setup.token }
    if (alsoDies) {
      const { pid } = await until(() => edgeStatus(admin).catch(() => undefined), { what: "the successor answers" })
      process.kill(pid, "SIGKILL")
    }

    const edge = setup.edge()
    await edge.ensure()
    await edge.push({ generation: 2, routes: [] })

    assert.notEqual(setup.identity().pid, former.pid)
    assert.equal((await fetch(`${edge.url}/d/chat/x`, { headers: withKey })).status, 404)
    // Over the former edge's connection; its tables are sent while others are served.
    await until(async () => (await ask(`${edge.url}/d/chat/x`, patient)).startsWith("404"), {
      what: "it has the table",
    })
    setup.finish.open()
    assert.match(await stream.text(), /data: 2/)
    patient.destroy()
  })

test("a stop in the middle of a replacement ends both edges", async () => {
  await using setup = await setUp()
  const former = await setup.serving(1)
  const crashPoint = (at: string) => assert.notEqual(at, "edge:after-successor")
  await assert.rejects(setup.edge({ logLevel: "debug", crashPoint }).ensure())
  const admin = { address: unixAddress(join(setup.folders.edgeSockets, "admin.sock")), token: setup.token }
  const successor = await identify((await edgeStatus(admin)).pid)
  assert.ok(successor)

  await setup.edge().stop()

  assert.deepEqual([await isAlive(former), await isAlive(successor)], [false, false])
})

test("a successor that ends at once leaves the former edge with its tables", async () => {
  await using setup = await setUp()
  const former = await setup.serving(1)

  await assert.rejects(setup.edge({ trustedProxies: "nonsense" }).ensure())
  await setup.edge().push({ generation: 2, routes: [] })

  assert.equal(setup.identity().pid, former.pid)
  assert.equal((await fetch(`${setup.edge().url}/d/chat/x`, { headers: withKey })).status, 404)
})

test("an edge that knows another token than ours is ended, and one that knows ours has its table", async () => {
  await using setup = await setUp()
  const former = await setup.serving(3)
  rmSync(join(setup.folders.edge, "token.json"))
  const token = await edgeToken(setup.folders)

  const edge = setup.edge({ token })
  await edge.ensure()

  assert.ok(!(await isAlive(former)))
  assert.equal((await edge.status()).generation, 3)
  assert.equal(await ask(`${edge.url}/d/chat/x`, new Agent()), "200 answer")
})

test("one that was begun with other settings, by somebody who was killed right then, is not taken for ours", async () => {
  await using setup = await setUp()
  const file = join(setup.folders.edge, "pid.json")
  await setup.edge().ensure()
  const before = readFileSync(file, "utf8")
  await setup.edge({ logLevel: "debug" }).ensure()
  const begun = setup.identity()
  // The state before the identity was written.
  writeFileSync(file, before)

  const edge = setup.edge({ logLevel: "warn" })
  await edge.ensure()
  const taken = setup.identity()
  await edge.ensure()
  const replaced = setup.identity()
  assert.deepEqual([taken.pid, taken.pid === replaced.pid], [begun.pid, false])
  await edge.ensure()
  assert.equal(setup.identity().pid, replaced.pid)

  // The same when the edge is found by its socket alone.
  rmSync(file)
  await edge.ensure()
  assert.equal(setup.identity().pid, replaced.pid)
  rmSync(file)
  const other = setup.edge({ logLevel: "error" })
  await other.ensure()
  assert.equal(setup.identity().pid, replaced.pid)
  await other.ensure()
  assert.notEqual(setup.identity().pid, replaced.pid)
})

test("an edge that may not read the operator's certificate shows it, and the one after it", {
  skip: withoutOpenssl(),
}, async (t) => {
  const folder = temporaryFolder()
  const [first, second] = [makeCertificate(folder, "first"), makeCertificate(folder, "second")]
  const tls = { certFile: join(folder, "live.crt"), keyFile: join(folder, "live.key") }
  const install = ({ certFile, keyFile }: TlsFiles) => {
    copyFileSync(certFile, tls.certFile)
    copyFileSync(keyFile, tls.keyFile)
    for (const file of Object.values(tls)) chmodSync(file, 0o600)
  }
  install(first)
  const user = process.getuid?.() === 0 ? isolatedUser(0) : undefined
  await using setup = await setUp()
  await prepareEdgeFolders(setup.folders, user, undefined)
  const edge = setup.edge({ tls, user })
  t.after(() => edge.stop())

  await edge.ensure()
  assert.equal(await nameOf(edge.url), "first")
  install(second)
  await edge.ensure()

  await until(async () => (await nameOf(edge.url)) === "second", { what: "the new certificate is shown" })
  assert.equal(statSync(join(setup.folders.edge, "tls.pem")).mode & 0o007, 0)
})

/** The name in the certificate at an address. */
const nameOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port: Number(new URL(url).port), rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once("error", reject)
  })

async function ask(url: string, agent: Agent): Promise<string> {
  const response = await send(url, agent)
  return `${response.statusCode} ${await text(response)}`
}

function send(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent, headers: withKey }, resolve).once("error", reject).end()
  })
}
