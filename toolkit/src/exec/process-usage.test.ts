import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { test } from "node:test"
import { treesOf, usageOfTrees } from "./process-usage.js"

const busyChild = `
  const { spawn } = require("node:child_process")
  const child = spawn(process.execPath, ["-e", "const end = process.cpuUsage().user + 100000; while (process.cpuUsage().user < end); console.log('ready'); process.stdin.resume()"], { stdio: ["inherit", "inherit", "inherit"] })
  child.on("exit", () => process.exit())`

test("the use of a process includes its descendants, and an ended process has none", async () => {
  const parent = spawn(process.execPath, ["-e", busyChild], { stdio: ["pipe", "pipe", "inherit"] })
  const pid = parent.pid ?? assert.fail("it was not started")
  await once(parent.stdout, "data")

  const tree = (await usageOfTrees([pid, 2 ** 22 + 1])).get(pid) ?? []
  parent.stdin.end()
  await once(parent, "exit")
  const after = await usageOfTrees([pid])

  assert.equal(tree.length, 2)
  assert.equal(tree[0]?.pid, pid)
  assert.ok(tree.every(({ rssBytes }) => rssBytes > 1024 * 1024))
  assert.ok((tree[1]?.cpuSeconds ?? 0) >= 0.05)
  assert.equal(after.size, 0)
})

test("a deep chain of processes, and a circle, are counted once each", () => {
  const listed = (pid: number, parent: number) => ({ pid, parent, cpuSeconds: 1, rssBytes: 1 })
  const deep = Array.from({ length: 50_000 }, (_, index) => listed(index + 2, index + 1))
  const circle = [listed(100_001, 100_002), listed(100_002, 100_001)]

  const trees = treesOf([...deep, ...circle], [2, 100_001, 7_000_000])

  assert.deepEqual(
    [...trees].map(([pid, tree]) => [pid, tree.length]),
    [
      [2, 50_000],
      [100_001, 2],
    ],
  )
})
