import assert from "node:assert/strict"
import { test } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { until } from "../testing/until.js"
import { identify } from "./process-identity.js"
import { CommandFailed, runCommand } from "./run-command.js"

const shell = (script: string) => ({
  argv: ["/bin/sh", "-c", script] as const,
  cwd: temporaryFolder(),
  env: { PATH: "/usr/bin:/bin" },
  timeoutMs: 60_000,
})

/** Runs a script that starts a child, and ends it by `end` once the child's pid is printed. @returns the child's pid */
async function endedWithChild(end: AbortController): Promise<number> {
  let printed = ""
  const onOutput = (chunk: Buffer) => {
    printed += chunk.toString()
    if (printed.includes("\n")) end.abort()
  }
  const command = { ...shell("sleep 600 & echo $!; wait"), onOutput, signal: end.signal }
  await assert.rejects(runCommand(command), { name: "CommandFailed", killedBy: "abort" })
  return Number(printed)
}

test("a failed command reports its exit code and its last lines", async () => {
  const failed = runCommand(shell("seq 1 100; echo broken >&2; exit 7"))

  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof CommandFailed)
    assert.equal(error.exitCode, 7)
    assert.equal(error.killedBy, undefined)
    assert.ok(error.lastLines.split("\n").length <= 20)
    assert.match(error.lastLines, /broken/)
    return true
  })
})

test("kept output is limited, and onOutput gets all of it", async () => {
  let seen = 0

  const onOutput = (chunk: Buffer) => {
    seen += chunk.length
  }
  const { stdout, truncated } = await runCommand({ ...shell("seq 1 10000"), maxOutputBytes: 10, onOutput })

  assert.equal(stdout, "1\n2\n3\n4\n5\n")
  assert.equal(truncated, true)
  assert.equal(seen, 48_894)
})

test("a command that takes too long is killed", async () => {
  const slow = runCommand({ ...shell("echo waiting; sleep 600"), timeoutMs: 50 })

  await assert.rejects(slow, { name: "CommandFailed", killedBy: "timeout" })
})

test("an abort also kills the processes that the command started, and a command whose signal is aborted is not started", async () => {
  const child = await endedWithChild(new AbortController())

  await until(async () => (await identify(child)) === undefined, { what: "the grandchild is gone" })
  const late = { ...shell("echo never"), signal: AbortSignal.abort(new Error("too late")) }
  await assert.rejects(runCommand(late), /too late/)
})
