import assert from "node:assert/strict"
import { once } from "node:events"
import {
  chmodSync,
  existsSync,
  lchownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unitSocket } from "../parts/files/folders.js"
import { socketOf } from "./unit-socket.js"

const unitId = "0190a1b2-0000-7000-8000-000000000001"
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

const place = () => {
  const unitSockets = join(temporaryFolder(), "s")
  mkdirSync(unitSockets)
  return {
    unitSockets,
    socket: socketOf({ unitSockets }, unitId, { owner, group: undefined }),
    path: unitSocket({ unitSockets }, unitId),
  }
}

/** A server that says its name. */
async function listening(path: string, name: string) {
  const server = createServer((client) => client.end(name)).listen(path)
  await once(server, "listening")
  return { [Symbol.dispose]: () => void server.close() }
}

const nameAt = async (path: string): Promise<string> => {
  const [said] = (await once(connect(path), "data")) as [Buffer]
  return said.toString()
}

test("a unit's socket gets our name once it exists, and keeps it whatever becomes of its own (M3)", async () => {
  const { socket, path } = place()
  await socket.prepare()
  assert.equal(await socket.publish(), false)
  using _unit = await listening(join(socket.folder, "unit.sock"), "unit")
  using _other = await listening(join(temporaryFolder(), "o"), "other")

  assert.equal(await socket.publish(), true)
  renameSync(join(socket.folder, "unit.sock"), join(socket.folder, "moved"))
  symlinkSync("/dev/null", join(socket.folder, "unit.sock"))

  assert.equal(await socket.publish(), true)
  assert.equal(await nameAt(path), "unit")
})

test("a link in the place of a unit's socket gets no name of ours (M3)", async () => {
  const { socket, path } = place()
  await socket.prepare()
  const others = join(temporaryFolder(), "o")
  using _other = await listening(others, "other")
  symlinkSync(others, join(socket.folder, "unit.sock"))

  assert.equal(await socket.publish(), false)
  assert.equal(existsSync(path), false)
  rmSync(join(socket.folder, "unit.sock"))
})

test("a socket of a former life is removed before a start, and all of it at the end (R5)", async () => {
  const { socket, path } = place()
  await socket.prepare()
  {
    using _unit = await listening(join(socket.folder, "unit.sock"), "former")
    await socket.publish()
  }

  chmodSync(socket.folder, 0o660)
  await socket.prepare()
  assert.equal(statSync(socket.folder).mode & 0o777, 0o700, "its permissions are the unit's own again")
  assert.equal(await socket.publish(), false)
  for (let time = 0; time < 2; time++) await socket.remove()

  assert.equal(existsSync(path), false)
  assert.equal(existsSync(socket.folder), false)
})

test("a socket gets our name after a process was killed that had begun to publish it, and nothing of that is left", {
  skip: process.getuid?.() !== 0 && "only root gives a socket to another user",
}, async () => {
  const { path, unitSockets } = place()
  const socket = socketOf({ unitSockets }, unitId, { owner: { uid: 200_077, gid: 200_077 }, group: 200_078 })
  await socket.prepare()
  const own = join(socket.folder, "unit.sock")
  using _unit = await listening(own, "unit")
  // As publish leaves it before it gives the socket its name.
  linkSync(own, `${path}.killed`)
  lchownSync(`${path}.killed`, 0, 200_078)

  assert.equal(await socket.publish(), true)
  assert.deepEqual([statSync(path).uid, statSync(path).gid, statSync(path).mode & 0o777], [0, 200_078, 0o660])
  await socket.remove()

  assert.deepEqual(readdirSync(unitSockets), [])
})
