/** Archives of clients in a real pipeline: sources/archive.test.ts has all that an archive may contain. */

import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { type TarEntry, tarGz } from "../sources/testing/tar-gz.js"
import { shared } from "../testing/api.js"
import { smallProject } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const platform = shared(() => platformWithRepository())

const secret = "sk-env-never-stored"
const project: TarEntry[] = Object.entries(smallProject).map(([path, content]) => ({ path, content }))

/** As both deploy CLIs do. @returns  the revision when it has ended */
async function deployArchive(name: string, entries: readonly TarEntry[]) {
  const { call } = platform
  const secrets = [{ name: "MODEL_KEY", value: secret }]
  const source = { source: "internal_source", source_config: { deployment_type: "dev" }, source_revision_config: {} }
  const { body: deployment } = await call("POST", "/v2/deployments", { name, ...source, secrets })
  const path = `/v2/deployments/${deployment.id}`
  const { body: offered } = await call("POST", `${path}/upload-url`)
  const sent = await fetch(offered.upload_url, { method: "PUT", body: new Uint8Array(tarGz(entries)) })
  assert.equal(sent.status, 200, await sent.text())
  const { body: patched } = await call("PATCH", path, {
    revision_source: "internal_source",
    source_revision_config: { source_tarball_path: offered.object_path, langgraph_config_path: "langgraph.json" },
  })
  return platform.untilEnded(deployment.id, patched.latest_revision_id)
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

test("no secret of an archive or a request is in the platform's files", async () => {
  const revision = await deployArchive("uploaded", [...project, { path: ".env", content: `MODEL_KEY=${secret}` }])

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  const files = filesBelow(platform.home)
  assert.ok(files.some((path) => path.includes("/artifacts/") && path.endsWith("chat.mjs")))
  for (const path of files) assert.ok(!readFileSync(path).includes(secret), path)
})

test("an archive that cannot be used ends its revision in words, and writes nothing outside", async () => {
  const link: TarEntry = { path: "link", type: "2", linkTo: platform.home }

  const linked = await deployArchive("linked", [...project, link, { path: "link/outside", content: "x" }])
  const bomb = await deployArchive("bomb", [{ path: "zeros", content: Buffer.alloc(64 * 1024 * 1024) }])

  assert.deepEqual([linked.status, linked.error_code], ["BUILD_FAILED", "archive_invalid"])
  assert.match(linked.status_message, /"link" is a symbolic link\. Pack the folder again/)
  assert.deepEqual([bomb.status, bomb.error_code], ["BUILD_FAILED", "archive_too_big"])
  assert.match(bomb.status_message, /dockerignore/)
  assert.ok(!existsSync(join(platform.home, "outside")))
})
