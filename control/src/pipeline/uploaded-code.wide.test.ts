/** The calls that both deploy CLIs make, one after the other, against a real pipeline (control-plane §2.2 and §2.3). */
import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { type TarEntry, tarGz } from "../sources/testing/tar-gz.js"
import { type Platform, smallProject, testPlatform } from "./testing/platform.js"

let platform: Platform
before(async () => {
  platform = await testPlatform()
  await platform.start()
})
after(() => platform[Symbol.asyncDispose]())

const secret = "sk-env-never-stored"
const entriesOf = (files: Readonly<Record<string, string>>, folder = ""): TarEntry[] =>
  Object.entries(files).map(([path, content]) => ({ path: `${folder}${path}`, content }))

/** Steps 1 to 3 of a CLI: look up the name, create what is missing, request an upload address, send the archive, PATCH. */
async function deployArchive(name: string, entries: readonly TarEntry[], configPath = "langgraph.json") {
  const { call } = platform
  const { body: list } = await call("GET", `/v2/deployments?name_contains=${name}`)
  const found = list.resources.find((it: { name: string }) => it.name === name)
  const wanted = {
    name,
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: {},
    secrets: [{ name: "MODEL_KEY", value: secret }],
  }
  const { body: deployment } = found ? { body: found } : await call("POST", "/v2/deployments", wanted)
  const { body: offered } = await call("POST", `/v2/deployments/${deployment.id}/upload-url`)
  const bytes = tarGz(entries)
  const sent = await fetch(offered.upload_url, {
    method: "PUT",
    headers: { "content-type": "application/gzip", "x-goog-content-length-range": "0,209715200" },
    body: new Uint8Array(bytes),
  })
  assert.equal(sent.status, 200, await sent.text())
  const { status, body: patched } = await call("PATCH", `/v2/deployments/${deployment.id}`, {
    revision_source: "internal_source",
    source_revision_config: { source_tarball_path: offered.object_path, langgraph_config_path: configPath },
    secrets: [{ name: "MODEL_KEY", value: secret }],
  })
  assert.equal(status, 200, JSON.stringify(patched))
  const { body: revisions } = await call("GET", `/v2/deployments/${deployment.id}/revisions?limit=1`)
  const revision = await platform.untilEnded(deployment.id, revisions.resources[0].id)
  return { deployment: patched, revision, isNew: !found }
}

async function buildLog(deploymentId: string, revisionId: string): Promise<string> {
  const path = `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`
  const { body } = await platform.call("POST", path, { order: "asc", limit: 50 })
  return body.logs.map(({ message }: { message: string }) => message).join("\n")
}

const artifactFiles = (): string[] =>
  readdirSync(join(platform.home, "artifacts"), { recursive: true, encoding: "utf8" })

test("an archive is deployed, redeployed with a change, and removed with its deployment", async () => {
  const first = await deployArchive("uploaded", entriesOf({ ...smallProject, ".env": `MODEL_KEY=${secret}` }))
  const url = first.deployment.source_config.custom_url
  const ok = await fetch(`${url}/ok`)
  const log = await buildLog(first.deployment.id, first.revision.id)
  const same = await deployArchive("uploaded", entriesOf(smallProject).toReversed())
  const changed = await deployArchive("uploaded", entriesOf({ ...smallProject, "new.txt": "new" }))

  assert.equal(first.revision.status, "DEPLOYED", JSON.stringify(first.revision))
  assert.equal(first.revision.source, "internal_source")
  assert.equal(first.revision.source_revision_config.repo_commit_sha, null)
  assert.ok(first.deployment.tenant_id, "the CLIs make the status page's address of it")
  assert.equal(ok.status, 200)
  assert.match(log, /fetch the uploaded archive at sha256:/)
  assert.match(log, /left out of the build: \.env/)
  assert.deepEqual([same.isNew, same.revision.status, changed.revision.status], [false, "DEPLOYED", "DEPLOYED"])
  assert.match(await buildLog(same.deployment.id, same.revision.id), /the artifact is used again/)
  assert.ok(artifactFiles().some((path) => path.endsWith("new.txt")))
  assert.ok(!artifactFiles().some((path) => path.endsWith(".env")))

  await platform.call("DELETE", `/v2/deployments/${first.deployment.id}`)
  await until(async () => (await platform.call("GET", `/v2/deployments/${first.deployment.id}`)).status === 404, {
    what: "the deployment is gone",
  })
  assert.ok(!existsSync(join(platform.home, "uploads")), "archives are in the database")
})

test("the config of a monorepo is found where the archive has it", async () => {
  const { deployment, revision } = await deployArchive(
    "monorepo",
    [...entriesOf(smallProject, "apps/agent/"), ...entriesOf({ ".env": secret, "index.mjs": "" }, "packages/shared/")],
    "apps/agent/langgraph.json",
  )

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  assert.equal((await fetch(`${deployment.source_config.custom_url}/ok`)).status, 200)
  assert.ok(!artifactFiles().some((path) => path.endsWith(".env")))
})

test("an archive that cannot be used ends its revision in words, and writes nothing outside", async () => {
  const outside = join(platform.home, "outside")
  const link: TarEntry = { path: "link", type: "2", linkTo: platform.home }

  const linked = await deployArchive("linked", [
    ...entriesOf(smallProject),
    link,
    { path: "link/outside", content: "x" },
  ])
  const bomb = await deployArchive("bomb", [{ path: "zeros", content: Buffer.alloc(64 * 1024 * 1024) }])

  assert.deepEqual([linked.revision.status, linked.revision.error_code], ["BUILD_FAILED", "archive_invalid"])
  assert.match(linked.revision.status_message, /"link" is a symbolic link\. Pack the folder again/)
  assert.deepEqual([bomb.revision.status, bomb.revision.error_code], ["BUILD_FAILED", "archive_too_big"])
  assert.match(bomb.revision.status_message, /dockerignore/)
  assert.ok(!existsSync(outside))
})

test("what this installation cannot run is stored, and says why it is not run", async () => {
  const image = { source_config: { resource_spec: {} }, source_revision_config: { image_uri: "registry.test/agent:1" } }
  const template = { source_config: { template_id: "chat" }, source_revision_config: {} }
  const cases = [
    [{ name: "image", source: "external_docker", ...image }, /runs no images that somebody else built/],
    [{ name: "template", source: "internal_template", ...template }, /no templates/],
  ] as const
  for (const [body, words] of cases) {
    const { deploymentId, revisionId } = await platform.deploy({ ...body, secrets: [] })

    const revision = await platform.untilEnded(deploymentId, revisionId)

    assert.equal(revision.error_code, "source_unsupported", JSON.stringify(revision))
    assert.match(revision.status_message, words)
  }
})

test("no secret of an archive or a request is in the platform's files", () => {
  const texts = readdirSync(platform.home, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

  for (const path of texts) assert.ok(!readFileSync(path).includes(secret), path)
})
