/** From `git push` to a deployed commit: real repositories, a real control plane, and signed webhooks or none. */

import assert from "node:assert/strict"
import { before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type Json, smallProject } from "../pipeline/testing/platform.js"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"
import { signedPush } from "./testing/deliveries.js"

const secret = "a secret for all repositories"
const onlyWebhooks = { SUPERSTEP_WEBHOOK_SECRET: secret, SUPERSTEP_POLL_INTERVAL: "0" }
const onlyLooks = { SUPERSTEP_POLL_INTERVAL: "0.3" }

const platform = shared(() => platformWithRepository(onlyWebhooks))
let deploymentId: string
before(async () => {
  deploymentId = (await platform.serveRepository({ config: { build_on_push: true } })).deploymentId
})

let commits = 0
const commit = () => platform.repository.commit({ ...smallProject, "n.txt": String(commits++) })
const repoUrl = () => platform.repository.url.replace(/\.git$/, "")

/** Sends the host's webhook after a push. @returns  the reply's body */
async function deliver(after: string): Promise<Json> {
  const { path, headers, text } = signedPush("gitea", secret, { after, repoUrl: repoUrl(), files: ["n.txt"] })
  const reply = await fetch(`${platform.apiUrl}${path}`, { method: "POST", headers, body: text })
  assert.equal(reply.status, 202)
  return reply.json()
}

const revisionOf = (reply: Json): string => reply.deployments[0].revision_id
const rows = () =>
  platform.db.rows<{ revision_id: string; status: string; stage: string | null; sha: string; trigger: string }>(sql`
    select revision_id, status, stage, commit_sha as sha, trigger from revisions
    where deployment_id = ${deploymentId} order by seq`)
const revisionBehind = async () => (await fetch(`${platform.agentsUrl}/d/chat/ok`)).headers.get("x-revision-id")
const untilDeployed = async (sha: string): Promise<string> => {
  const found = await until(
    async () => (await rows()).findLast((row) => row.sha === sha && row.status === "DEPLOYED"),
    {
      what: `${sha} is deployed`,
    },
  )
  return found.revision_id
}

test("the commit that a revision has found at its branch is remembered for polling", async () => {
  const row = await platform.db.row(sql`select ref, sha from watched_branches where deployment_id = ${deploymentId}`)

  assert.deepEqual(row, { ref: "refs/heads/main", sha: (await rows())[0]?.sha })
})

test("the commit of a push is deployed, even if the branch has moved on", async () => {
  const pushed = commit()
  commit()

  const revision = await platform.untilEnded(deploymentId, revisionOf(await deliver(pushed)))

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  assert.equal(revision.source_revision_config.repo_commit_sha, pushed)
  assert.equal(await revisionBehind(), revision.id)
})

test("without webhooks polling finds a push once, also one from a time without polling", {
  skip: unlessWide("takes 10 s"),
}, async () => {
  await platform.kill()
  await platform.db.run(sql`update watched_branches set webhook_at = null`)
  const whileAway = commit()
  await platform.start(onlyLooks)
  await untilDeployed(whileAway)
  await platform.kill()
  await platform.start(onlyLooks)
  const next = commit()
  await untilDeployed(next)

  const found = (await rows()).filter(({ sha }) => sha === whileAway || sha === next)
  assert.deepEqual(fieldsOf(found, "trigger"), ["push", "push"])
})
