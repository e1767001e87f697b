import assert from "node:assert/strict"
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { machineFolders } from "../files/folders.js"
import { isolatedUser } from "../isolation/isolation.js"
import { prepareEdgeFolders } from "./edge-folders.js"

test("the edge may connect to sockets of units, and folders beside them stay their owners' (docker/README.md)", async () => {
  const folders = machineFolders(temporaryFolder())
  mkdirSync(join(folders.unitSockets, "one.own"), { recursive: true, mode: 0o700 })
  writeFileSync(join(folders.unitSockets, "one.sock"), "", { mode: 0o600 })
  const user = process.getuid?.() === 0 ? isolatedUser(0) : undefined

  await prepareEdgeFolders(folders, user, undefined)

  const [socket, own] = ["one.sock", "one.own"].map((name) => statSync(join(folders.unitSockets, name)))
  assert.deepEqual([(socket?.mode ?? 0) & 0o777, socket?.gid], user ? [0o660, user.gid] : [0o600, process.getgid?.()])
  assert.deepEqual([(own?.mode ?? 0) & 0o777, own?.gid], [0o700, process.getgid?.()])
})
