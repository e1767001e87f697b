import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"

const module = new URL("end-after-failure.mjs", import.meta.url).href
const program = `
  import { createServer } from "node:net"
  import { describe, test } from "node:test"
  import { endAfterFailure } from ${JSON.stringify(module)}
  endAfterFailure(1)
  describe("a file", () => {
    test("leaves a server", () => {
      createServer().listen(0, "127.0.0.1")
      throw new Error("on purpose")
    })
    test("is the last", () => undefined)
  })`

test("the process of a test that failed ends, whatever it left open, and has reported all tests", () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ["--input-type=module", "--test-reporter=tap", "--eval", program]
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 60_000 })

  assert.equal(status, 1, stdout)
  assert.match(stdout, /not ok 1 - leaves a server/)
  assert.match(stdout, /ok 2 - is the last/)
})
