import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unitSocket } from "../process/folders.js"
import { socketOf } from "./unit-socket.js"

const unitId = "0190a1b2-0000-7000-8000-000000000001"
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

const place = () => {
  const unitSockets = join(temporaryFolder(), "s")
  mkdirSync(unitSockets)
  return {
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

test("a unit's socket gets our name once it exists, and keeps it whatever becomes of its own (C3)", async () => {
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

test("a link in the place of a unit's socket gets no name of ours (C3)", async () => {
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

  await socket.prepare()
  assert.equal(await socket.publish(), false)
  for (let time = 0; time < 2; time++) await socket.remove()

  assert.equal(existsSync(path), false)
  assert.equal(existsSync(socket.folder), false)
})
