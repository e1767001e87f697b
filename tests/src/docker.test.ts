/** An installation whose agents are containers of a real engine: what holds with processes holds here, and the engine keeps nothing at the end. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { containersOf } from "@superstep/control/machines/docker/containers"
import { engineAt } from "@superstep/control/machines/docker/engine"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { withoutPython } from "./testing/languages.js"
import { type Platform, startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

const socket = process.env.SUPERSTEP_TEST_DOCKER
const skip = socket === undefined && "needs SUPERSTEP_TEST_DOCKER, a socket of an engine: .ci/docker starts one"

const settings = {
  SUPERSTEP_MACHINE: "docker",
  SUPERSTEP_DOCKER_SOCKET: socket ?? "",
  SUPERSTEP_BASE_IMAGE: process.env.SUPERSTEP_TEST_BASE_IMAGE ?? "superstep-test-base:1",
}

/** What the agent of the tests answers: its version. */
async function versionAt(platform: Platform, deployment: Deployment): Promise<string> {
  const input = { messages: [{ role: "user", content: "hi" }] }
  const values = await clientOf(platform, deployment).runs.wait(null, "chat", { input })
  return /hello from (\w+)/.exec(JSON.stringify(values))?.[1] ?? "none"
}

const containersIn = (home: string) => containersOf(engineAt(socket ?? ""), readFileSync(join(home, "id"), "utf8"))

test("agents in containers are deployed, replaced and started again, and end with the platform", {
  skip,
}, async (t) => {
  const home = temporaryFolder()
  const repository = await createRepository()
  await repository.push(versionFile("one"))
  {
    await using platform = await startPlatform({ home, env: settings })
    const containers = containersIn(home)
    const secrets = [{ name: "MODEL_KEY", value: "sk-1" }]
    const deployment = await deploy(platform, "agent", repository.url, secrets, "installed")
    const running = async () => (await containers.list()).filter(({ state }) => state === "running")

    await t.test("the official client streams from it", async () => {
      assert.equal(await versionAt(platform, deployment), "one")
      const input = { count: 0, steps: 3, everyMs: 1 }
      const events: string[] = []
      for await (const { event } of clientOf(platform, deployment).runs.stream(null, "ticks", { input }))
        events.push(event)
      assert.equal(events.at(-1), "end")
    })

    await t.test("the planner starts a killed container again", async () => {
      const [killed] = await running()
      await containers.kill(killed?.id ?? "")

      const isBack = async () => (await versionAt(platform, deployment).catch(() => undefined)) === "one"
      await until(isBack, { what: "the agent answers again" })
      const [now] = await running()
      assert.equal(now?.unitId, killed?.unitId)
      assert.notEqual(now?.id, killed?.id)
    })

    await t.test("a killed control plane finds its containers again (R2)", async () => {
      const [before] = await running()
      const pid = await platform.controlPid()
      process.kill(pid ?? 0, "SIGKILL")
      await until(async () => ((await platform.controlPid()) ?? pid) !== pid, { what: "another control plane listens" })
      await until(
        () =>
          platform.api("GET", "/health").then(
            ({ status }) => status === 200,
            () => false,
          ),
        {
          what: "it answers",
        },
      )

      assert.equal(await versionAt(platform, deployment), "one")
      assert.equal((await running())[0]?.id, before?.id)
    })

    await t.test("a push replaces it, and a rollback brings it back from its artefact", async () => {
      await repository.push(versionFile("two"))
      const path = `/v2/deployments/${deployment.id}`
      const first = (await platform.api<Deployment>("GET", path)).body.active_revision_id
      await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))
      assert.equal(await versionAt(platform, deployment), "two")

      const { status, body } = await platform.api<Deployment>("POST", `${path}/revisions/${first}/redeploy`)
      assert.equal(status, 200, JSON.stringify(body))
      await untilDeployed(platform, deployment.id, body.latest_revision_id)
      assert.equal(await versionAt(platform, deployment), "one")
    })
  }

  assert.deepEqual(await containersIn(home).list(), [])
})

test("a Python project runs in a container with the environment of its build", {
  skip: skip || withoutPython,
}, async () => {
  await using platform = await startPlatform({ env: settings })
  const repository = await createRepository("Python")
  await repository.push(versionFile("one", "Python"))

  const deployment = await deploy(platform, "py", repository.url, [], "installed")

  assert.equal(await versionAt(platform, deployment), "one")
})
