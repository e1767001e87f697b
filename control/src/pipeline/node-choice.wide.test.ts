/** A project that asks for another Node than ours is built with it, and its agent runs on it. */

import assert from "node:assert/strict"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { shared } from "../testing/api.js"
import { smallProject } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const platform = shared(() => platformWithRepository({ SUPERSTEP_NODE_DIRS: otherNode("v99.1.0") }))

/** Our own Node, reporting another version: a second one is not always installed. Its children can see that it started them. */
function otherNode(version: string): string {
  const folder = temporaryFolder()
  const bin = join(folder, version, "bin")
  mkdirSync(bin, { recursive: true })
  const script = `#!/bin/sh\ntest "$1" != --version || exec echo ${version}\nTHROUGH_OTHER=1 exec ${process.execPath} "$@"\n`
  writeFileSync(join(bin, "node"), script)
  for (const path of [folder, join(folder, version), bin, join(bin, "node")]) chmodSync(path, 0o755)
  return folder
}

test("a project is built with the Node that it asks for, its agent runs on it, and it is not built twice", async () => {
  const graphs = { chat: "./chat.mjs:graph" }
  platform.repository.commit({ ...smallProject, "langgraph.json": JSON.stringify({ graphs, node_version: "99" }) })

  const config = { build_command: "node --version" }
  const { deploymentId, revisionId } = await platform.serveRepository({ name: "other", config })

  const log = await platform.buildLog(deploymentId, revisionId)
  assert.match(log, /"node_version" requests Node 99: v99\.1\.0 is used/)
  assert.match(log, /^v99\.1\.0$/m)
  const artifact = await platform.db.row<{ platform: string }>(sql`
    select platform from artifacts where deployment_id = ${deploymentId}`)
  assert.match(artifact?.platform ?? "", /^node v99\.1\.0 /)
  const env = await fetch(`${platform.agentsUrl}/d/other/env`, { headers: { "x-api-key": platform.apiKey } })
  const unit = (await env.json()) as { own: string[] }
  assert.ok(unit.own.includes("THROUGH_OTHER"))

  const { body } = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, {
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })
  await platform.untilEnded(deploymentId, body.latest_revision_id)
  assert.match(await platform.buildLog(deploymentId, body.latest_revision_id), /was built before/)
})
