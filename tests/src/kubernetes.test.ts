/**
 * An installation whose agents are pods, against a real API server and a real registry; the node is played by the test. Control plane and edge run
 * beside the cluster, as root, and reach the Services by name.
 */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { type Pod, pathsIn } from "@superstep/control/machines/kubernetes/objects"
import { ownedObjects } from "@superstep/control/machines/kubernetes/owned-objects"
import { newNamespace, noCluster, testCluster } from "@superstep/control/machines/kubernetes/testing/place"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { type Platform, startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

const skip = noCluster || (process.env.SUPERSTEP_TEST_HOSTS === undefined && "needs .ci/kubernetes/with")

/** What the agent of the tests answers: its version. */
async function versionAt(platform: Platform, deployment: Deployment): Promise<string> {
  const input = { messages: [{ role: "user", content: "hi" }] }
  const values = await clientOf(platform, deployment).runs.wait(null, "chat", { input })
  return /hello from (\w+)/.exec(JSON.stringify(values))?.[1] ?? "none"
}

test("agents in pods are deployed, replaced and started again, and end with the platform", { skip }, async (t) => {
  const home = temporaryFolder()
  const cluster = await testCluster({ shared: [home] })
  const namespace = await newNamespace(cluster)
  const { pods, secrets, policies } = pathsIn(namespace)
  const settings = {
    SUPERSTEP_MACHINE: "kubernetes",
    SUPERSTEP_KUBECONFIG: cluster.kubeconfig,
    SUPERSTEP_KUBERNETES_NAMESPACE: namespace,
    SUPERSTEP_REGISTRY: `${cluster.host}/agents`,
    SUPERSTEP_BASE_IMAGE: cluster.baseImage,
  }
  // Asked as an administrator: the machine itself may not list secrets.
  const owned = () => ownedObjects(cluster.admin, readFileSync(join(home, "id"), "utf8"))
  const running = async () =>
    (await owned().list<Pod>(pods)).filter(({ status }) => status?.phase === "Running").map(({ metadata }) => metadata)
  const repository = await createRepository()
  await repository.push(versionFile("one"))
  {
    await using platform = await startPlatform({ home, env: settings })
    const variables = [{ name: "MODEL_KEY", value: "sk-1" }]
    const deployment = await deploy(platform, "agent", repository.url, variables, "installed")

    await t.test("the official client streams from it", async () => {
      assert.equal(await versionAt(platform, deployment), "one")
      const input = { count: 0, steps: 3, everyMs: 1 }
      const events: string[] = []
      for await (const { event } of clientOf(platform, deployment).runs.stream(null, "ticks", { input }))
        events.push(event)
      assert.equal(events.at(-1), "end")
    })

    await t.test("the planner replaces a pod that somebody deletes", async () => {
      const [deleted] = await running()
      await cluster.admin.json(`${pods}/${deleted?.name}`, { method: "DELETE", body: { gracePeriodSeconds: 1 } })

      const isBack = async () => (await versionAt(platform, deployment).catch(() => undefined)) === "one"
      const isOther = async () => (await running()).some(({ uid }) => uid !== deleted?.uid)
      await until(async () => (await isOther()) && (await isBack()), { what: "another pod answers" })
      assert.equal((await running())[0]?.name, deleted?.name)
    })

    await t.test("a push replaces it, and a rollback brings it back from the registry", async () => {
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

  const left = await Promise.all([pods, secrets, policies].map((path) => owned().list(path)))
  assert.deepEqual(left.flat(), [])
  await cluster.stop()
})
