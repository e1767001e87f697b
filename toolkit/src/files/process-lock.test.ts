import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import test from "node:test"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { takeLock } from "./process-lock.js"

const contenderFile = fileURLToPath(new URL("testing/lock-contender.js", import.meta.url))
const dead = JSON.stringify({ pid: 1, startTicks: -1, bootId: "another boot" })

function contender() {
  const child = spawn(process.execPath, [contenderFile], { stdio: ["pipe", "pipe", "inherit"] })
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    take: async (file: string) => {
      child.stdin.write(`${file}\n`)
      return (await answers.next()).value
    },
    end: async () => {
      const exit = once(child, "exit")
      child.stdin.end()
      await exit
    },
  }
}

test("of many processes that find the lock of a dead one, one gets it", async (t) => {
  const folder = temporaryFolder()
  const contenders = Array.from({ length: 4 }, contender)
  t.after(() => Promise.all(contenders.map(({ end }) => end())))

  for (let round = 0; round < 40; round++) {
    const file = join(folder, `lock-${round}`)
    writeFileSync(file, dead)
    const answers = await Promise.all(contenders.map(({ take }) => take(file)))

    assert.deepEqual(answers.toSorted(), ["ours", "taken", "taken", "taken"])
    const owner = contenders[answers.indexOf("ours")]?.child.pid
    assert.equal((JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid, owner)
  }
  assert.equal(readdirSync(folder).length, 40)
})

test("a process that died while it replaced a dead entry does not block others", async () => {
  const file = join(temporaryFolder(), "lock")
  writeFileSync(file, dead)
  const right = `${file}.after-${createHash("sha256").update(dead).digest("hex").slice(0, 12)}`
  writeFileSync(right, dead)

  assert.equal(await takeLock(file), undefined)

  assert.equal((await takeLock(file))?.pid, process.pid)
})
