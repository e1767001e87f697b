import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { copyFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { commandTable } from "./command-table.js"
import { runCli } from "./testing/run-cli.js"

test("the version is that of the package", async () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

  const { code, stdout } = await runCli(["--version"], { cwd: temporaryFolder() })

  assert.deepEqual({ code, stdout }, { code: 0, stdout: `${manifest.version}\n` })
})

test("-v is the version only before a command: after `deploy` it is what deploy means by it", async () => {
  const alone = await runCli(["-v"], { cwd: temporaryFolder() })
  const deploy = await runCli(["deploy", "-v"], { cwd: temporaryFolder() })

  assert.equal(alone.code, 0)
  assert.deepEqual({ code: deploy.code, stdout: deploy.stdout }, { code: 1, stdout: "" })
  assert.match(deploy.stderr, /no platform found/)
})

test("a command that waits for what can never happen exits with 13 and says that it is a bug", async () => {
  const program = new URL("./program.js", import.meta.url).href
  const code = `const { runProgram } = await import(${JSON.stringify(program)})\nawait runProgram(() => new Promise(() => undefined))`

  const ended = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code]).catch((it) => it)

  assert.equal(ended.code, 13)
  assert.match(ended.stderr, /exited before it was done: please report this bug/)
})

test("the help describes every command", async () => {
  const { stdout } = await runCli(["--help"], { cwd: temporaryFolder() })

  const words = Object.keys(commandTable)
  const described = words.filter((word) => new RegExp(`^  ${word}\\b.* {2}\\S`, "m").test(stdout))
  assert.deepEqual(described, words)
})

test("a clone that is not built causes an error that says so", async () => {
  const bin = join(temporaryFolder(), "superstep.mjs")
  copyFileSync(new URL("../bin/superstep.mjs", import.meta.url), bin)

  const ended = await promisify(execFile)(process.execPath, [bin]).catch((error: unknown) => error)

  const { code, stderr } = ended as { code: number; stderr: string }
  assert.equal(code, 1)
  assert.equal(stderr, "✖ this clone is not compiled yet: npm start does it, or npm install && npm run build\n")
})

for (const [what, words, stderr] of [
  ["a mistyped command causes a suggestion", "dve", /unknown command 'dve'[\s\S]*Did you mean dev\?/],
  [
    "a user error is one sentence that says what to do, without a stack",
    "dev",
    /^✖ .*langgraph\.json does not exist: give its path with --config.*superstep new my-agent\n {2}See docs\/errors\.md#no_project\n$/,
  ],
  ["a port is a number", "dev --port 70000", /expected a port, a number from 1 to 65535/],
  ["a level of the log is accepted in lower case", "logs agent --level error", /no platform found/],
  ["a level of the log is accepted in upper case", "logs agent --level ERROR", /no platform found/],
  ["another level is refused", "logs agent --level loud", /expected one of debug, info, warning, error, critical/],
] as const)
  test(what, async () => {
    const ended = await runCli(words.split(" "), { cwd: temporaryFolder() })

    assert.equal(ended.code, 1)
    assert.match(ended.stderr, stderr)
  })
