/** The life of agents on the machine of this run: `.ci/run` runs it on each of the three. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { repositoryOf, signed } from "@superstep/control/pushes/testing/deliveries"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import {
  clientOf,
  type Deployment,
  deploy,
  deploymentOf,
  startRevision,
  untilDeployed,
  versionOf,
} from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

const webhookSecret = "a secret of the git host"

test("agents are deployed, killed, replaced, put to sleep and previewed, and end with the platform", {
  skip: unlessWide("takes a minute"),
}, async (t) => {
  const env = { SUPERSTEP_IDLE_MINUTES: "0.02", SUPERSTEP_WEBHOOK_SECRET: webhookSecret }
  await using platform = await startPlatform({ env })
  const { api, machine } = platform
  const repository = await createRepository()
  await repository.push(versionFile("one"))
  const deployment = await deploy(platform, "agent", repository.url)
  const client = clientOf(platform, deployment)

  await t.test("the official client streams from it", async () => {
    assert.equal(await versionOf(platform, deployment), "one")
    const input = { count: 0, steps: 3, everyMs: 1 }
    const events: string[] = []
    for await (const { event } of client.runs.stream(null, "ticks", { input })) events.push(event)
    assert.equal(events.at(-1), "end")
  })

  await t.test("a killed unit starts again, and ends the run that it was in", async () => {
    const { thread_id } = await client.threads.create()
    const input = { count: 0, steps: 20, everyMs: 100 }
    const { run_id } = await client.runs.create(thread_id, "ticks", { input })
    const isUnderWay = async () => {
      const { values } = await client.threads.getState<{ log?: number[] }>(thread_id)
      return (values.log?.length ?? 0) > 2
    }
    await until(isUnderWay, { what: "the run executes" })
    const [killed] = await machine.running()
    assert.ok(killed)
    await machine.kill(killed)

    // While its unit is dead a request may fail, which is no answer.
    const isBack = async () => (await versionOf(platform, deployment).catch(() => undefined)) === "one"
    await until(isBack, { what: "the agent answers again" })
    const values = (await client.runs.join(thread_id, run_id)) as { log: number[] }
    const [now, ...others] = await machine.running()
    assert.deepEqual(others, [])
    assert.equal(now?.unitId, killed.unitId)
    assert.notEqual(now?.life, killed.life)
    assert.deepEqual(
      values.log,
      Array.from({ length: 20 }, (_, n) => n),
    )
  })

  await t.test("a killed control plane finds its units again (R2)", async () => {
    const before = await machine.running()
    const pid = await until(() => platform.controlPid(), { what: "the control plane's process" })
    process.kill(pid, "SIGKILL")
    await until(async () => ((await platform.controlPid()) ?? pid) !== pid, { what: "another control plane listens" })
    const isHealthy = () =>
      api("GET", "/health").then(
        ({ status }) => status === 200,
        () => false,
      )
    await until(isHealthy, { what: "it answers" })

    assert.equal(await versionOf(platform, deployment), "one")
    assert.deepEqual(await machine.running(), before)
  })

  await t.test("a push replaces it, and a rollback brings it back from its artifact", async () => {
    await repository.push(versionFile("two"))
    await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))
    assert.equal(await versionOf(platform, deployment), "two")

    const { status, body } = await api<Deployment>("POST", `/v2/deployments/${deployment.id}/rollback`)
    assert.equal(status, 200, JSON.stringify(body))
    await untilDeployed(platform, deployment.id, body.latest_revision_id)
    assert.equal(await versionOf(platform, deployment), "one")
  })

  await t.test("without requests it sleeps, and requests wake it", async () => {
    const { source_config, ...rest } = deploymentOf("sleepy", repository.url)
    const others = new Set((await machine.running()).map(({ unitId }) => unitId))
    const asked = { ...rest, source_config: { ...source_config, deployment_type: "dev_free" } }
    const created = await api<Deployment>("POST", "/v2/deployments", asked)
    assert.equal(created.status, 201, JSON.stringify(created.body))
    await untilDeployed(platform, created.body.id, created.body.latest_revision_id)
    const { body: sleepy } = await api<Deployment>("GET", `/v2/deployments/${created.body.id}`)
    const isAsleep = async () => (await machine.running()).every(({ unitId }) => others.has(unitId))
    await until(isAsleep, { what: "it sleeps" })

    const versions = await Promise.all(Array.from({ length: 5 }, () => versionOf(platform, sleepy)))
    assert.deepEqual(versions, Array(5).fill("two"))
    await until(isAsleep, { what: "it sleeps again" })
    assert.equal((await api("DELETE", `/v2/deployments/${sleepy.id}`)).status, 204)
  })

  await t.test("a pull request gets a preview of its commit, which ends with it", async () => {
    const settings = { max_previews: 1, secrets: [{ name: "MODEL_KEY", value: "sk-for-previews" }] }
    assert.equal((await api("PUT", `/v2/deployments/${deployment.id}/previews`, settings)).status, 200)
    const sha = await repository.push(versionFile("proposed"), "refs/pull/7/head")
    const previews = async () => {
      const path = `/v2/previews?deployment_id=${deployment.id}`
      return (await api<{ resources: { state: string; deployment_id: string | null }[] }>("GET", path)).body.resources
    }
    const others = new Set((await machine.running()).map(({ unitId }) => unitId))

    await deliver(platform, "opened", { repoUrl: repository.url, sha })
    const [{ deployment_id: id } = { deployment_id: null }] = await previews()
    const created = await api<Deployment>("GET", `/v2/deployments/${id}`)
    await untilDeployed(platform, created.body.id, created.body.latest_revision_id)
    const { body: preview } = await api<Deployment>("GET", `/v2/deployments/${id}`)
    assert.equal(await versionOf(platform, preview), "proposed")
    assert.equal(await versionOf(platform, deployment), "one")

    await deliver(platform, "closed", { repoUrl: repository.url, sha })
    const isGone = async () => (await api("GET", `/v2/deployments/${id}`)).status === 404
    await until(isGone, { what: "the preview is gone" })
    assert.deepEqual(fieldsOf(await previews(), "state"), ["closed"])
    // The former revision's unit may have ended meanwhile, too.
    const left = (await machine.running()).filter(({ unitId }) => !others.has(unitId))
    assert.deepEqual(left, [])
  })
})

/** What GitHub sends about pull request 7. */
async function deliver(
  platform: Platform,
  action: string,
  { repoUrl, sha }: { readonly repoUrl: string; readonly sha: string },
): Promise<void> {
  const repo = { full_name: "acme/agent" }
  const body = {
    action,
    number: 7,
    pull_request: {
      title: "a change",
      head: { ref: "feature", sha, repo },
      base: { ref: "main", sha, repo },
      labels: [],
    },
    repository: repositoryOf(repoUrl),
  }
  const { path, headers, text } = signed("github", { secret: webhookSecret, event: "pull_request", body })
  const reply = await fetch(`${platform.credentials.url}${path}`, { method: "POST", headers, body: text })
  assert.ok(reply.ok, `${reply.status} ${await reply.text()}`)
}
