/** Logs through the whole platform: real builds and units, real HTTP. */

import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type EventSource, openEvents } from "../events/testing/event-source.js"
import type { Json } from "../pipeline/testing/platform.js"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"

const platform = shared(() => platformWithRepository({ SUPERSTEP_LOG_QUOTA_MB: "1" }))
let ids: { deploymentId: string; revisionId: string }
const said = join(temporaryFolder(), "said")
const secret = "s3cret value/with+signs"
const several = "ab\ncd\nef"
const runId = "0197a1b2-0000-7000-8000-000000000001"

before(async () => {
  writeFileSync(said, "")
  ids = await platform.serveRepository({ secrets: { FAKE_SAYS: said, SECRET: secret, PEM: several } })
})

/** Makes the unit print these bytes as they are, in one write. */
async function print(bytes: string | Buffer): Promise<void> {
  writeFileSync(said, bytes)
  const reply = await fetch(`${platform.agentsUrl}/d/chat/say`, { headers: { "x-api-key": platform.apiKey } })
  assert.equal(reply.status, 200)
}
const streamPath = () => `/v2/deployments/${ids.deploymentId}/revisions/${ids.revisionId}/logs/stream`
const read = async (query: string): Promise<Json[]> => {
  const path = `/v2/deployments/${ids.deploymentId}/revisions/${ids.revisionId}/logs?limit=1000&${query}`
  return (await platform.call("GET", path)).body.logs
}
const find = (text: string): Promise<Json> =>
  until(async () => (await read(`type=deploy&query=${encodeURIComponent(text)}`))[0], { what: `"${text}" is stored` })

const follow = (path: string, headers: Record<string, string> = {}) =>
  openEvents(`${platform.apiUrl}${path}`, { "x-api-key": platform.apiKey, ...headers })
/** The line at this place of a log that is followed, when it has come. */
const lineAt = async ({ events }: EventSource, index: number): Promise<Json> =>
  (await until(() => events[index], { what: `line ${index} has come` })).data

test("a stream brings the build, the unit's lines and then each new one; Last-Event-ID goes on after one", async () => {
  const lines = await follow(streamPath())
  const isEnd = ({ data }: { data: Json }) => data.message.includes("build finished")
  const { id, event, data: built } = await until(() => lines.events.find(isEnd), { what: "the build has finished" })
  assert.deepEqual([lines.contentType, event, id, built.type], ["text/event-stream", "log", built.id, "build"])
  await print(`{"level":"warn","msg":"first","run_id":"${runId}"}\nsecond\n`)

  await find("second")
  const stream = await follow(`/v2/deployments/${ids.deploymentId}/logs/stream?tail=1&run_id=${runId}`)
  assert.equal((await lineAt(stream, 0)).message, "first")
  await print(`{"msg":"third","run_id":"${runId}"}\n`)
  const third = await lineAt(stream, 1)
  const again = await follow(streamPath(), { "last-event-id": (await find("first")).id })

  assert.deepEqual([third.message, third.run_id, third.level], ["third", runId, "INFO"])
  assert.deepEqual([(await lineAt(again, 0)).message, (await lineAt(again, 1)).message], ["second", "third"])
  for (const open of [lines, stream, again]) open.close()
})

test("a unit's output is stored whatever it is: cut, split, binary, without an end", async () => {
  await print("half a ")
  await print("line, whole\n")
  await print(Buffer.concat([Buffer.from("binary "), Buffer.from([0, 255, 27, 91, 51, 49, 109, 10])]))
  await print(`enormous ${"x".repeat(1_500_000)}\nafter the enormous\n`)

  assert.equal((await find("line, whole")).message, "half a line, whole")
  assert.equal((await find("binary")).message, "binary \ufffd")
  assert.ok(Buffer.byteLength((await find("enormous x")).message) <= 16 * 1024)
  assert.equal((await find("after the")).message, "after the enormous")
})

test("a unit that prints lines of the platform fakes nothing but its own line", async () => {
  const forged = {
    level: "error",
    time: "2999-01-01T00:00:00Z",
    process: "control",
    revision_id: "x",
    msg: "a\nb forged",
  }
  await print(`${JSON.stringify(forged)}\n`)
  await print("after the forged one\n")

  const line = await find("forged")
  const next = await find("after the forged")
  assert.equal(line.revision_id, ids.revisionId)
  assert.ok(line.message.startsWith("a\nb forged"), "one entry stays one")
  assert.ok(line.timestamp < next.timestamp)
  assert.ok(new Date(line.timestamp).getTime() <= Date.now() + 1000)
})

test("no form of a secret is stored, also over several lines", async () => {
  const base64 = Buffer.from(secret).toString("base64")
  await print(
    `clear ${secret}\n{"msg":"json","of":${JSON.stringify({ secret })}}\nencoded ${encodeURIComponent(secret)} ${base64}\n`,
  )
  await print(`${several}\nend of secrets\n`)
  await find("end of secrets")

  const stored = await platform.db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  const text = stored.map(({ message }) => message).join("\n")
  for (const form of [secret, base64, encodeURIComponent(secret), several]) assert.ok(!text.includes(form), form)
  assert.ok(text.includes("[secret]\n[secret]\n[secret]\nend of secrets"))
})

test("a flood is taken in order, kept within the quota, and the log says what went", async () => {
  const flood = Array.from({ length: 10_000 }, (_, index) => `flood ${index} ${"x".repeat(50)}`)
  await print(`${flood.join("\n")}\nflood is over\n`)
  await find("flood is over")

  const marker = await until(async () => (await read("type=deploy&query=lines%20dropped"))[0], {
    what: "the log says so",
  })
  assert.match(marker.message, /^\[\d+ lines dropped: .*exceed 1 MB\]$/)
  const last = await read("type=deploy&query=flood%20&order=desc")
  assert.equal(last[0].message, "flood is over")
  assert.deepEqual(fieldsOf(last.slice(1, 501), "message"), flood.toReversed().slice(0, 500))
  const events = await platform.db.rows(sql`select data from events where type = 'quota.warning'`)
  assert.ok(events.length > 0)
})

test("what a unit printed last is stored when it has ended, also without a line's end", async () => {
  const { body } = await platform.call("GET", `/v2/deployments/${ids.deploymentId}`)
  assert.equal(body.latest_revision_id, ids.revisionId)
  const [unit] = await platform.db.rows<{ unit_id: string }>(sql`select unit_id from units`)
  await print("last words without an end")
  const identity = readFileSync(join(platform.home, "units", unit?.unit_id ?? "", "pid.json"), "utf8")
  process.kill((JSON.parse(identity) as { pid: number }).pid, "SIGKILL")

  assert.equal((await find("last words")).message, "last words without an end")
})
