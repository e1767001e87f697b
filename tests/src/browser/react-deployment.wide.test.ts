/** The hook of `@langchain/react` on a deployment, over both transports: what is killed or replaced in the middle of an answer leaves no trace. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, startRevision, untilDeployed } from "../testing/deployments.js"
import { pidsOf, startLocalPlatform } from "../testing/platform.js"
import { newGate } from "./chat-page.js"
import { deployGraphs } from "./deployed-graphs.js"
import { noBrowserFrontEnds as skip } from "./front-ends.js"
import { areDistinct, isSaying, isSettled, openReactPage, type ReactPage, submit } from "./react-page.js"

/** Does something while an answer is half said. @returns what the page shows in the end */
async function disturb(page: ReactPage, text: string, disturbance: () => Promise<unknown>) {
  const gate = newGate()
  const before = await page.shows("its messages", ({ isLoading }) => !isLoading)
  const said = before.messages.map(({ content }) => content)
  await submit(page, text, { gate: gate.path })
  await page.shows("the first words", isSaying(text, "You said "))
  await disturbance()
  gate.open()
  return await page.shows(`the whole answer to ${text}`, isSettled(...said, text, `You said ${text}.`))
}

for (const transport of ["sse", "websocket"])
  test(`the hook of @langchain/react on a deployment, over ${transport}`, { skip }, async (t) => {
    await using platform = await startLocalPlatform()
    const name = `hook-${randomUUID().slice(0, 8)}`
    const { deployment, ...server } = await deployGraphs(platform, name, ["talk"])
    const key = platform.credentials.api_key
    const protocols = [`x-api-key.${Buffer.from(key).toString("base64url")}`, "agent-protocol"]
    const parameters = { transport, protocols: JSON.stringify(protocols) }
    await using page = await openReactPage(server, "the newest SDK", parameters)

    const killAll = async (title: string) => {
      const pids = await pidsOf(new RegExp(`^superstep\\S* ${name} ${title}\\b`))
      assert.ok(pids.length > 0, `no process ${title}`)
      for (const pid of pids) process.kill(pid, "SIGKILL")
    }
    const disturbances: Record<string, () => Promise<unknown>> = {
      "its worker is killed": () => killAll("worker"),
      "its agent server is killed": () => killAll("server"),
      "the edge is killed": async () => {
        const pid = await platform.edgePid()
        assert.ok(pid)
        process.kill(pid, "SIGKILL")
        await until(async () => ![undefined, pid].includes(await platform.edgePid()), { what: "an edge is back" })
      },
      "a new revision takes over": async () => {
        await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))
      },
    }
    for (const [what, disturbance] of Object.entries(disturbances))
      await t.test(`the page shows the whole answer when ${what}`, async () => {
        const shown = await disturb(page, `hello ${what}`, disturbance)

        assert.ok(areDistinct(shown))
        assert.equal(shown.error, undefined)
        const { values } = await clientOf(platform, deployment).threads.getState<{ messages: { id: string }[] }>(
          shown.threadId ?? "",
        )
        assert.deepEqual(fieldsOf(shown.messages, "id"), fieldsOf(values.messages, "id"))
      })
  })
