import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { test } from "node:test"
import { isolatedUser } from "../../parts/isolation/isolation.js"
import { findByTitle } from "./find-by-title.js"

const skip = (process.platform !== "linux" || process.getuid?.() !== 0) && "needs root on Linux"

test("a process of another user with the same title is ignored", { skip }, async (t) => {
  const title = `superstep-unit-${randomUUID()}`
  const [user, other] = [isolatedUser(4511), isolatedUser(4512)]
  const script = "process.stdout.write('up'); process.stdin.resume()"
  const child = spawn(process.execPath, [`--title=${title}`, "-e", script], { ...user, cwd: "/", env: {} })
  t.after(() => child.kill("SIGKILL"))
  await once(child.stdout, "data")

  assert.equal(await findByTitle(title, other.uid), undefined)
  assert.equal((await findByTitle(title, user.uid))?.pid, child.pid)
  assert.equal((await findByTitle(title))?.pid, child.pid)
})
