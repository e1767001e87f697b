/**
 * The edge and units are killed at named points of a rollout, together with the control plane: every revision ends,
 * traffic returns without help, and nothing is left behind.
 */
import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type BareRepository, bareRepository } from "../sources/testing/bare-repository.js"
import { deploymentOf, type Platform, smallProject, testPlatform } from "./testing/platform.js"

let platform: Platform
let repository: BareRepository
let deploymentId: string
let served: string
before(async () => {
  platform = await testPlatform()
  repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  await platform.start()
  const first = await platform.deploy(deploymentOf(repository.url))
  deploymentId = first.deploymentId
  served = (await platform.untilEnded(deploymentId, first.revisionId)).id
  await platform.kill()
})
after(() => platform[Symbol.asyncDispose]())

type Victim = "edge" | "old unit" | "new unit"
const slice: readonly (readonly [Victim, string])[] = [
  ["edge", "switch:before-push"],
  ["new unit", "switch:begin"],
  ["new unit", "switch:after-push"],
  ["old unit", "deploy:after-start"],
]
const points = [
  "deploy:after-start",
  "switch:begin",
  "switch:after-activate",
  "switch:before-push",
  "switch:after-push",
]
const later = ["switch:after-commit", "verify:begin", "verify:before-advance", "drain:begin"]
const all = (["edge", "old unit", "new unit"] as const).flatMap((victim) =>
  [...points, ...later].map((point) => [victim, point] as const),
)

for (const [victim, point] of process.env.SUPERSTEP_WIDE_TESTS === "1" ? all : slice) {
  test(`${victim} and control plane are killed at ${point}: the revision ends and answers, and nothing is left`, async () => {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    repository.commit({ ...smallProject, "n.txt": `${victim} ${point}` })
    const revisionId = await change()
    await platform.untilDead()
    killFile(
      victim === "edge" ? join(platform.home, "edge") : await unitFolder(victim === "old unit" ? served : revisionId),
    )

    await platform.start()
    const revision = await platform.untilEnded(deploymentId, revisionId)

    assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
    await until(async () => (await revisionBehind()) === revisionId, { what: "the new revision answers" })
    served = revisionId
    await until(async () => JSON.stringify(await left()) === JSON.stringify(nothing), {
      what: "nothing but the one unit is left",
    })
    await platform.kill()
  })
}

const nothing = { units: 1, work: 0, claims: 0, folders: 1, sockets: 1, builds: 0, artifacts: true }

/** What an installation with one quiet deployment has. */
async function left(): Promise<typeof nothing> {
  const row = await platform.db.row<{ units: number; work: number; claims: number; artifacts: string[] }>(sql`
    select (select count(*) from units) as units, (select count(*) from revisions where stage is not null) as work,
      (select count(*) from revisions where lease_owner is not null) as claims,
      (select coalesce(array_agg(artifact_id order by artifact_id), '{}') from artifacts) as artifacts`)
  const list = (name: string) => readdirSync(join(platform.home, name)).sort()
  const run = existsSync(join(platform.home, "run")) ? list("run").filter((name) => !name.endsWith(".sock")) : ["one"]
  return {
    units: Number(row?.units),
    work: Number(row?.work),
    claims: Number(row?.claims),
    folders: list("units").length,
    sockets: run.length,
    builds: list("work").length,
    artifacts: JSON.stringify(row?.artifacts) === JSON.stringify(list("artifacts")),
  }
}

async function change(): Promise<string> {
  const body = { source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" } }
  return (await platform.call("PATCH", `/v2/deployments/${deploymentId}`, body)).body.latest_revision_id
}

async function revisionBehind(): Promise<string | null> {
  const reply = await fetch(`${platform.agentsUrl}/d/chat/ok`).catch(() => undefined)
  return reply?.headers.get("x-revision-id") ?? null
}

async function unitFolder(revisionId: string): Promise<string> {
  const unit = await platform.db.row<{ unit_id: string }>(sql`
    select unit_id from units where revision_id = ${revisionId}`)
  return join(platform.home, "units", unit?.unit_id ?? "none")
}

const killFile = (folder: string): void => {
  const { pid } = JSON.parse(readFileSync(join(folder, "pid.json"), "utf8")) as { pid: number }
  process.kill(pid, "SIGKILL")
}
