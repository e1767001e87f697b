/**
 * Images that somebody else built, deployed by the vendor's Python CLI (`--push-to`, `--image-uri`) through a real registry to a real engine;
 * and an image of ours, with the runtime inside.
 */
import assert from "node:assert/strict"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { exportBase, requireImage } from "@superstep/machines/docker/base-image"
import { containersOf } from "@superstep/machines/docker/containers"
import { engineAt } from "@superstep/machines/docker/engine"
import { credentialsFor, docker, imageOfOthers, pushed } from "@superstep/machines/docker/testing/images-of-others"
import { layoutIn } from "@superstep/oci/layout"
import { projectImage } from "@superstep/oci/project-image"
import { registryAt } from "@superstep/oci/registry/client"
import { pushImage } from "@superstep/oci/registry/push"
import { runtimeFiles } from "@superstep/oci/runtime-files"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, type Deployment, deploy, untilDeployed, untilEnded } from "./testing/deployments.js"
import { pythonCli, runCli, withoutPython } from "./testing/official-cli.js"
import { type LocalPlatform, startLocalPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

const socket = process.env.SUPERSTEP_TEST_DOCKER ?? ""
const baseImage = process.env.SUPERSTEP_TEST_BASE_IMAGE ?? "superstep-test-base:1"
const skip =
  (socket === "" && "needs SUPERSTEP_TEST_DOCKER, a socket of an engine: .ci/docker starts one") ||
  withoutPython ||
  (!hasRegistry() && "docker-registry is not installed")

/** What the server of an image says at the deployment's address. */
async function said(platform: LocalPlatform, name: string, path: string): Promise<string> {
  const response = await fetch(`${platform.agentsUrl}/d/${name}${path}`, {
    headers: { "x-api-key": platform.credentials.api_key },
  })
  return response.text()
}

/** Makes an image of a built project, as `images/` does, and pushes it. @returns  its name with its digest */
async function imageOfOurs(artifactFolder: string, port: number): Promise<string> {
  const engine = engineAt(socket)
  const layout = layoutIn(temporaryFolder())
  const base = await exportBase(engine, await requireImage(engine, baseImage), layout)
  const worker = import.meta.resolve("@superstep/worker-js/main")
  const { parts, entry } = await runtimeFiles({
    server: fileURLToPath(import.meta.resolve("@superstep/server/main")),
    verify: fileURLToPath(worker),
    verifyPython: fileURLToPath(new URL("../../python/verify.py", worker)),
  })
  const runtime = { layer: await layout.addLayer(parts), entry }
  const image = await projectImage({
    base,
    runtime,
    project: artifactFolder,
    configPath: "langgraph.json",
    labels: {},
    layout,
  })
  const { digest } = await pushImage({
    registry: registryAt({
      origin: `http://127.0.0.1:${port}`,
      login: async () => ({ user: "robot", password: new Secret("wonderful") }),
    }),
    repository: "team/ours",
    version: "v1",
    image,
    read: layout.read,
  })
  return `127.0.0.1:${port}/team/ours@${digest}`
}

test("ready-made images run: pushed and named by the official CLI, from a private registry, rolled back by digest; and one of ours", {
  skip,
}, async (t) => {
  await using registry = await realRegistry({ hasPasswords: true })
  const config = credentialsFor(registry.port)
  const authFolder = credentialsFor(registry.port, temporaryFolder(), "team.json")
  const home = temporaryFolder()
  const project = temporaryFolder()
  writeFileSync(
    join(project, "langgraph.json"),
    JSON.stringify({ graphs: { agent: "./agent.py:graph" }, dependencies: ["."] }),
  )
  writeFileSync(join(project, ".env"), "MODEL_KEY=sk-of-the-cli\n")
  const containers = () => containersOf(engineAt(socket), readFileSync(join(home, "id"), "utf8"))
  {
    await using platform = await startLocalPlatform({
      home,
      env: {
        SUPERSTEP_MACHINE: "docker",
        SUPERSTEP_DOCKER_SOCKET: socket,
        SUPERSTEP_BASE_IMAGE: baseImage,
        SUPERSTEP_IMAGE_CREDENTIALS: authFolder,
        SUPERSTEP_TIMEOUT_HANG: "10",
        // Two crashes within the watch would roll the revision back.
        SUPERSTEP_WATCH: "0",
      },
    })
    const repository = `127.0.0.1:${registry.port}/team/guest`
    const cli = (...args: string[]) =>
      runCli(
        pythonCli,
        { platform, cwd: project, env: { DOCKER_HOST: `unix://${socket}`, DOCKER_CONFIG: config } },
        "--name",
        "guest",
        ...args,
      )
    const found = async (name: string): Promise<Deployment> => {
      const { body } = await platform.api<{ resources: Deployment[] }>("GET", `/v2/deployments?name=${name}`)
      return body.resources[0] as Deployment
    }
    let first = ""

    await t.test("--push-to pushes an image and deploys it, with its pull secret and the secrets of .env", async () => {
      const printed = await cli(
        ...["--push-to", repository, "--image", imageOfOthers("local/guest:1", "one")],
        ...["--image-pull-secret", "team"],
      )

      const deployment = await found("guest")
      assert.match(printed, /guest/)
      first = deployment.active_revision_id ?? ""
      await untilDeployed(platform, deployment.id, deployment.latest_revision_id)
      assert.equal(await said(platform, "guest", "/version"), "one")
      const env = JSON.parse(await said(platform, "guest", "/env"))
      assert.equal(env.MODEL_KEY, "sk-of-the-cli")
      assert.match(env.DATABASE_URI, /^postgres/)
    })

    await t.test("--image-uri deploys another digest, and a rollback brings the first one back", async () => {
      const second = pushed(imageOfOthers(`${repository}:latest`, "two"), config)

      await cli("--image-uri", second)

      const deployment = await found("guest")
      await untilDeployed(platform, deployment.id, deployment.latest_revision_id)
      assert.equal(await said(platform, "guest", "/version"), "two")
      const path = `/v2/deployments/${deployment.id}/revisions/${first}/redeploy`
      const { status, body } = await platform.api<Deployment>("POST", path)
      assert.equal(status, 200, JSON.stringify(body))
      await untilDeployed(platform, deployment.id, body.latest_revision_id)
      assert.equal(await said(platform, "guest", "/version"), "one")
    })

    await t.test("the planner starts an image again that exits, and one that hangs", async () => {
      const isOne = async () => (await said(platform, "guest", "/version").catch(() => "")) === "one"
      const startOf = async () => {
        const [unit] = await containers().list()
        return unit && (await containers().inspect(unit.id))?.State.StartedAt
      }
      const before = await startOf()

      await said(platform, "guest", "/exit").catch(() => undefined)
      await until(async () => (await startOf()) !== before && (await isOne()), { what: "it was started again" })
      const between = await startOf()
      await said(platform, "guest", "/hang")

      await until(async () => (await startOf()) !== between && (await isOne()), {
        what: "it was started again after it hung",
        timeoutMs: 120_000,
      })
    })

    await t.test("an image that exits fails, as one without a command does, and the former one goes on", async () => {
      const deployment = await found("guest")
      docker("tag", baseImage, `${repository}:none`)
      const cases = [
        [imageOfOthers(`${repository}:exits`, "none", ["false"]), "DEPLOY_FAILED crash_loop"],
        [`${repository}:none`, "BUILD_FAILED source_unsupported"],
      ] as const
      for (const [name, end] of cases) {
        const { body } = await platform.api<Deployment>("PATCH", `/v2/deployments/${deployment.id}`, {
          source_revision_config: { image_uri: pushed(name, config) },
        })

        const ended = await untilEnded(platform, deployment.id, body.latest_revision_id)

        assert.equal(`${ended.status} ${ended.error_code}`, end, ended.status_message ?? "")
        assert.equal(await said(platform, "guest", "/version"), "one")
      }
    })

    await t.test("an image of ours runs its agents there, through the official client", async () => {
      const sources = await createRepository()
      await deploy(platform, "source", sources.url, [], "installed")
      const artifacts = join(home, "artifacts")
      const [built = ""] = readdirSync(artifacts).filter((name) => !name.startsWith("image-"))

      const { status, body } = await platform.api<Deployment>("POST", "/v2/deployments", {
        name: "ours",
        source: "external_docker",
        source_config: { resource_spec: { image_pull_secrets: [{ name: "team" }] } },
        source_revision_config: { image_uri: await imageOfOurs(join(artifacts, built), registry.port) },
        secrets: [],
      })
      assert.equal(status, 201, JSON.stringify(body))
      await untilDeployed(platform, body.id, body.latest_revision_id)

      const client = clientOf(platform, await found("ours"))
      const thread = await client.threads.create()
      const input = { messages: [{ role: "user", content: "hi" }] }
      const values = await client.runs.wait(thread.thread_id, "chat", { input })
      assert.match(JSON.stringify(values), /hello from/)
      const events: string[] = []
      for await (const { event } of client.runs.stream(null, "ticks", { input: { count: 0, steps: 3, everyMs: 1 } }))
        events.push(event)
      assert.equal(events.at(-1), "end")
    })
  }

  assert.deepEqual(await containers().list(), [])
  assert.equal(docker("ps", "--all", "--quiet", "--filter", "label=superstep.companion"), "")
})
