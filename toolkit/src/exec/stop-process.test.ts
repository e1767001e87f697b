import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { until } from "../testing/until.js"
import { identify, isAlive } from "./process-identity.js"
import { spawnDetached } from "./spawn-detached.js"
import { stopProcess } from "./stop-process.js"

/** Starts a shell script and waits until it has printed so many lines. */
async function startScript(script: string, lines: number) {
  const cwd = temporaryFolder()
  const outputFile = join(cwd, "output.log")
  const identity = await spawnDetached({
    argv: ["/bin/sh", "-c", script],
    cwd,
    env: { PATH: "/usr/bin:/bin" },
    outputFile,
  })
  const printed = await until(
    async () => {
      const words = (await readFile(outputFile, "utf8")).split("\n").slice(0, -1)
      return words.length >= lines && words
    },
    { what: "the script has started" },
  )
  return { identity, printed }
}

for (const [what, trap, graceMs, how] of [
  ["exits on the signal is not killed", "exit 0", 20_000, "ended"],
  ["ignores the signal is killed after the grace period", "", 50, "killed"],
] as const)
  test(`a process that ${what}`, async () => {
    const { identity } = await startScript(`trap "${trap}" TERM; echo up; while :; do sleep 0.01; done`, 1)

    assert.equal(await stopProcess(identity, { graceMs }), how)

    assert.equal(await isAlive(identity), false)
  })

test("remaining processes of a group are killed after their leader exits", async () => {
  const deafChild = `sh -c 'trap "" TERM; echo $$; while :; do sleep 0.01; done' &`
  const { identity, printed } = await startScript(
    `${deafChild} trap "exit 0" TERM; echo up; while :; do sleep 0.01; done`,
    2,
  )
  const child = await identify(Number(printed.find((line) => line !== "up")))
  assert.ok(child)

  const how = await stopProcess(identity, { graceMs: 20_000, group: true })

  assert.equal(how, "ended")
  assert.equal(await isAlive(child), false)
})

test("another process with the same pid is not stopped", async () => {
  const { identity } = await startScript("echo up; sleep 600", 1)

  const how = await stopProcess({ ...identity, startTicks: identity.startTicks - 1 }, { graceMs: 0, group: true })

  assert.equal(how, "gone")
  assert.equal(await isAlive(identity), true)
  await stopProcess(identity, { graceMs: 10_000, group: true })
})
