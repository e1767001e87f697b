/** The first ten minutes: a start from nothing deploys the example. Its build installs packages: one of the wider tests. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import type { Credentials } from "../home/credentials.js"
import { printedCurl } from "../testing/printed-curl.js"
import { startCli } from "../testing/run-cli.js"

const skip = unlessWide("takes minutes")

test("the first start deploys the example, the second one finds it, and the printed commands work both times", {
  skip,
}, async (t) => {
  const cwd = temporaryFolder()
  const args = ["up", "--port", String(await freePort()), "--agents-port", String(await freePort())]
  const answers: string[] = []
  const outputs: string[] = []

  for (const _ of ["first", "second"]) {
    const running = startCli(args, { cwd })
    t.after(() => running.signal("SIGKILL"))
    const isOver = () => running.lines.find((line) => /Ctrl-C stops everything|FAILED|✖/.test(line))
    await until(isOver, { what: "the example answers", timeoutMs: 180_000 })
    const { api_key } = JSON.parse(readFileSync(join(cwd, ".superstep/credentials.json"), "utf8")) as Credentials
    // The last line goes to another output, and may be read first.
    const command = await until(() => printedCurl(running.lines, api_key), { what: "the command is printed" })
    const { stdout } = await promisify(execFile)("sh", ["-c", command])
    running.signal("SIGINT")
    const { code, stderr, stdout: printed } = await running.ended
    assert.equal(`${printed}${stderr}`.includes(api_key), false)
    assert.equal(code, 0, stderr)
    answers.push(stdout)
    outputs.push(stderr)
  }

  assert.match(outputs[0] ?? "", /deploying the example chat: .*BUILDING.*DEPLOYED/)
  assert.match(outputs[0] ?? "", /streamed its first token [\d.]+ s after its deployment began/)
  assert.doesNotMatch(outputs[1] ?? "", /deploying|first token/)
  for (const answer of answers) assert.match(answer, /^event: end\ndata: .*"status":"success"/m)
})
