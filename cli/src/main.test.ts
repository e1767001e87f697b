import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "./testing/run-cli.js"

test("the version is that of the package", async () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

  const { code, stdout } = await runCli(["--version"], { cwd: temporaryFolder() })

  assert.deepEqual({ code, stdout }, { code: 0, stdout: `${manifest.version}\n` })
})

test("a mistyped command is answered with the one that was meant, and with code 1", async () => {
  const { code, stderr } = await runCli(["dve"], { cwd: temporaryFolder() })

  assert.equal(code, 1)
  assert.match(stderr, /unknown command 'dve'/)
  assert.match(stderr, /Did you mean dev\?/)
})

test("a mistake is one sentence that says what to do, without a stack", async () => {
  const cwd = temporaryFolder()

  const withoutProject = await runCli(["dev"], { cwd })
  const wrongPort = await runCli(["dev", "--port", "70000"], { cwd })

  assert.equal(withoutProject.code, 1)
  assert.match(
    withoutProject.stderr,
    /^✖ there is no .*langgraph\.json: name it with --config.*superstep new my-agent\n$/,
  )
  assert.match(wrongPort.stderr, /a port is a number from 1 to 65535/)
})

test("colours come only where they are wanted", async () => {
  const { stderr } = await runCli(["keys", "create"], { cwd: temporaryFolder() })

  assert.equal(stderr.includes("\u001b["), false)
})
