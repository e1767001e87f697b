/** The unit for systemd: it is valid, and its settings do what the page says when systemd sends its signals. */

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { clientOf, deploy } from "../testing/deployments.js"
import { startLocalPlatform } from "../testing/platform.js"
import { changedRecipe, recipe } from "../testing/recipes.js"
import { createRepository } from "../testing/repository.js"

const file = recipe("systemd/superstep.service")
const analyze = "/usr/bin/systemd-analyze"
const program = "/opt/superstep/node_modules/.bin/superstep"
// systemd knows it from version 254 on, and ignores it before that.
const known = /Unknown key '?(name '?)?DelegateSubgroup'? in section/

/** The values of a setting in the section `Service`, in their order. */
const settingsOf = (name: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value)

test("systemd accepts the unit", {
  skip: !existsSync(analyze) && "there is no systemd-analyze",
}, async () => {
  const copy = join(temporaryFolder(), "superstep.service")
  writeFileSync(copy, changedRecipe(file, { [program]: process.execPath }))

  const { stderr } = await promisify(execFile)(analyze, ["verify", copy])

  const complaints = stderr.split("\n").filter((line) => line !== "" && !known.test(line))
  assert.deepEqual(complaints, [])
})

test("a stop of the unit leaves agents serving, the next start adopts them, and SIGINT ends everything", async () => {
  assert.deepEqual(settingsOf("ExecStart"), [`${program} up --no-example`])
  // systemd sends SIGTERM only to the main process.
  assert.deepEqual(settingsOf("KillMode"), ["process"])
  const { SUPERSTEP_HOME: home, ...env } = Object.fromEntries(
    settingsOf("Environment").flatMap((line) =>
      line.split(" ").map((setting) => setting.split("=") as [string, string]),
    ),
  )
  assert.equal(home, "/var/lib/superstep")
  const first = await startLocalPlatform({ env })
  const repository = await createRepository()
  const client = clientOf(first, await deploy(first, "my-agent", repository.url))
  const answer = async () => {
    const { messages } = (await client.runs.wait(null, "chat", { input: { messages: [] } })) as {
      messages: { content: string }[]
    }
    return messages.map(({ content }) => content)
  }
  const served = await answer()

  process.kill(first.pid, "SIGTERM")
  const code = await first.ended
  const servedAlone = await answer()
  await using second = await startLocalPlatform({ env, home: first.home })
  const { body } = await second.api<{ resources: { name: string; health: string }[] }>("GET", "/v2/deployments")

  assert.equal(code, 0, first.output())
  assert.deepEqual([served, servedAlone], [["hello from v1"], ["hello from v1"]])
  assert.deepEqual(fieldsOf(body.resources, "name"), ["my-agent"])
  // Disposing of it sends SIGINT, and proves that no process is left.
})
