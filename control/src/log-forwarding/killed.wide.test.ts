import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { appendLogLines } from "../logs/operations.js"
import { deploymentOf, testPlatform } from "../pipeline/testing/platform.js"

test("a control plane that is killed between a request and its cursor sends the lines again (L1)", async () => {
  await using platform = await testPlatform()
  await using receiver = await startReceiver()
  const messages = () => receiver.calls.flatMap(({ json }) => json.map((it: { message: string }) => it.message))
  const settings = { SUPERSTEP_LOG_FORWARD_URL: receiver.url, SUPERSTEP_LOG_FORWARD_FORMAT: "json" }
  const lines = ["one", "two", "three"]
  const untilSent = () =>
    until(
      async () =>
        (await platform.db.row(sql`select 1 from log_lines where log_line_id > forwarded_line(deployment_id)`)) ===
        undefined,
      { what: "every stored line was accepted" },
    )
  await platform.start(settings)
  const { deploymentId, revisionId } = await platform.deploy(deploymentOf("file:///nowhere/repository.git"))
  await platform.untilEnded(deploymentId, revisionId)
  await untilSent()
  await platform.kill()

  await platform.start({ ...settings, SUPERSTEP_CRASH_AT: "forward:after-send" })
  await appendLogLines(platform.db, revisionId, "deploy", lines)
  await platform.untilDead()
  const sentBefore = messages()
  await platform.start(settings)
  await untilSent()

  const before = lines.filter((line) => sentBefore.includes(line))
  assert.deepEqual(before, lines, "the sink had accepted them")
  const again = messages().slice(sentBefore.length)
  assert.deepEqual(
    lines.filter((line) => again.includes(line)),
    lines,
    "and got them again",
  )
})
