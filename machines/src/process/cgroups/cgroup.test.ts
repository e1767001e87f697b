import assert from "node:assert/strict"
import { test } from "node:test"
import { limitFiles, wantedMoreThanLimit } from "./cgroup.js"

test("only the limits of enabled controllers are written", () => {
  const limits = { memoryMb: 300, cpu: 0.5, processes: 4096 }

  assert.deepEqual(limitFiles(limits, new Set(["cpu", "memory", "pids"])), [
    ["memory.max", "314572800"],
    ["memory.swap.max", "0"],
    ["memory.oom.group", "1"],
    ["cpu.max", "50000 100000"],
    ["pids.max", "4096"],
  ])
  assert.deepEqual(limitFiles({ ...limits, processes: undefined }, new Set(["pids"])), [])
  assert.deepEqual(limitFiles({ memoryMb: undefined, cpu: undefined, processes: 1 }, new Set(["cpu", "memory"])), [])
})

test("a limit that the kernel would refuse is replaced by the nearest one that it accepts", () => {
  const files = limitFiles({ memoryMb: 1e300, cpu: 0.0001, processes: undefined }, new Set(["cpu", "memory"]))

  assert.deepEqual(files, [
    ["memory.max", "9007199254740991"],
    ["memory.swap.max", "0"],
    ["memory.oom.group", "1"],
    ["cpu.max", "1000 100000"],
  ])
})

test("a process that was killed because the machine ran out of memory did not exceed its limit", () => {
  const events = ({ oom, oomKill }: { oom: number; oomKill: number }) =>
    `low 0\nhigh 0\nmax ${oom}\noom ${oom}\noom_kill ${oomKill}\noom_group_kill 0\n`

  assert.equal(wantedMoreThanLimit(events({ oom: 1, oomKill: 3 })), true)
  assert.equal(wantedMoreThanLimit(events({ oom: 0, oomKill: 3 })), false)
  assert.equal(wantedMoreThanLimit(""), false)
})
