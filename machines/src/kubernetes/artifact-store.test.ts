import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request as ask } from "node:http"
import { join } from "node:path"
import { after, before } from "node:test"
import { mediaTypes } from "@superstep/oci/image"
import { layoutIn } from "@superstep/oci/layout"
import { places } from "@superstep/oci/project-image"
import { artifactStore } from "@superstep/oci/registry/artifact-store"
import { registryAt } from "@superstep/oci/registry/client"
import { RegistryFailed } from "@superstep/oci/registry/failures"
import { findImage } from "@superstep/oci/registry/pull"
import { parseReference } from "@superstep/oci/registry/reference"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { createLog } from "@superstep/toolkit/log/log"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { pushBase } from "./testing/push-base.js"
import { ArtifactGone, unitImages } from "./unit-images.js"

const skip = hasRegistry() ? false : "docker-registry is not installed"
const test = testUnless(skip)
let real: Awaited<ReturnType<typeof realRegistry>>

before(async () => {
  if (!skip) real = await realRegistry()
})
after(async () => {
  if (!skip) await real[Symbol.asyncDispose]()
})

type Place = Pick<typeof real, "origin" | "port">
const [oneHome, otherHome] = [randomUUID(), randomUUID()]

const storeAt = (repository: string, homeId = oneHome, { origin, port }: Place = real, log = silent) =>
  artifactStore({
    registry: registryAt({ origin, delaysMs: [10, 50] }),
    target: { host: `127.0.0.1:${port}`, repository },
    folder: temporaryFolder(),
    homeId,
    log,
  })

function project(): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "node_modules"))
  writeFileSync(join(folder, "node_modules", "a.js"), "a")
  writeFileSync(join(folder, "chat.mjs"), "export const graph = {}")
  return folder
}

test("an artifact that one control plane sends is found by another, with its variables, files and later schemas", async () => {
  await storeAt("agents").put("a1", project(), { configEnv: { MODEL: "small" } })
  const schemas = temporaryFolder()
  const added = { from: schemas, to: `${places.project}/.superstep` }

  const other = storeAt("agents")
  const first = await other.find("a1")
  for (const text of ["old", "new"]) {
    writeFileSync(join(schemas, "schemas.json"), text)
    await other.add("a1", added)
  }
  const found = await storeAt("agents").find("a1")
  const into = temporaryFolder()
  assert.ok(found)
  await other.unpack(found, into)

  assert.deepEqual(first?.configEnv, { MODEL: "small" })
  assert.deepEqual(found.configEnv, { MODEL: "small" })
  assert.equal(found.layers.length, 3)
  assert.notEqual(found.digest, first.digest)
  const fileOf = (path: string) => readFileSync(join(into, places.project, path), "utf8")
  assert.equal(fileOf("chat.mjs"), "export const graph = {}")
  assert.equal(fileOf("node_modules/a.js"), "a")
  assert.equal(fileOf(".superstep/schemas.json"), "new")
})

test("the image of a unit is made once for each base, release and state of the artifact, is known while the registry is away, and goes with the artifact", async () => {
  const store = storeAt("units")
  const base = parseReference(await pushBase(real.origin))
  const { digest } = await findImage(registryAt({ origin: real.origin }), base)
  const release = (content: string, of = store) => {
    const runtime = temporaryFolder()
    writeFileSync(join(runtime, "main.js"), content)
    return unitImages({
      store: of,
      baseRegistry: registryAt({ origin: real.origin }),
      base: { ...base, digest },
      runtime: { parts: [{ from: runtime, to: places.runtime }], entry: "main.js" },
      layout: layoutIn(temporaryFolder()),
      log: silent,
    })
  }
  await store.put("a1", project(), { configEnv: {} })
  await store.put("a12", project(), { configEnv: {} })

  const first = await release("one")("a1")
  const again = await release("one")("a1")
  const next = await release("two")("a1")

  let isAway = false
  using proxy = await refusing(() => (isAway ? 503 : undefined))
  const seen = storeAt("units", oneHome, proxy)
  const imageOf = release("three", seen)
  const made = await imageOf("a1")
  isAway = true
  const whileAway = await imageOf("a1")
  const isThere = await seen.digestOf(seen.tagOf("a1"))
  await assert.rejects(imageOf("a12"), RegistryFailed)

  assert.deepEqual(whileAway, made)
  assert.ok(isThere)
  assert.equal(again.reference, first.reference)
  assert.notEqual(next.reference, first.reference)
  assert.match(first.reference, /^127\.0\.0\.1:\d+\/units@sha256:[0-9a-f]{64}$/)
  assert.deepEqual((await store.list()).toSorted(), ["a1", "a12"])
  await store.remove("a1")
  await store.remove("a1")
  assert.deepEqual(await store.list(), ["a12"])
  assert.equal(await store.find("a1"), undefined)
  await assert.rejects(release("one")("a1"), ArtifactGone)
  assert.deepEqual(await tagsOf("units"), [store.tagOf("a12")])
})

const tagsOf = async (repository: string) => {
  const response = await fetch(`${real.origin}/v2/${repository}/tags/list`)
  return ((await response.json()) as { tags: string[] }).tags.toSorted()
}

test("in a repository that several share, each installation lists and removes only what is its own", async () => {
  const [one, other] = [storeAt("shared"), storeAt("shared", otherHome)]
  const same = project()
  await one.put("a1", same, { configEnv: {} })
  await other.put("a1", same, { configEnv: {} })
  const manifest = await fetch(`${real.origin}/v2/shared/manifests/${other.tagOf("a1")}`, {
    headers: { accept: mediaTypes.manifest },
  })
  const latest = { method: "PUT", headers: { "content-type": mediaTypes.manifest }, body: await manifest.text() }
  assert.equal((await fetch(`${real.origin}/v2/shared/manifests/latest`, latest)).status, 201)

  assert.deepEqual([await one.list(), await other.list()], [["a1"], ["a1"]])
  await one.remove("a1")
  await one.remove("latest")

  assert.deepEqual(await one.list(), [])
  assert.ok(await other.find("a1"), "the image of the other one is left")
  assert.deepEqual(await tagsOf("shared"), ["latest", other.tagOf("a1")].toSorted())
})

test("a login that may push but not delete, and a registry that deletes nothing, keep no build and no deployment from its end", async () => {
  for (const status of [401, 403]) {
    using limited = await refusing((method) => (method === "DELETE" ? status : undefined))
    const warnings: string[] = []
    const log = createLog({ process: "control", level: "warn" }, { write: (line) => warnings.push(line) })
    const store = storeAt(`limited-${status}`, oneHome, limited, log)
    for (const id of ["a1", "a2"]) await storeAt(`limited-${status}`).put(id, project(), { configEnv: {} })

    for (const id of ["a1", "a2"]) await store.remove(id)

    assert.deepEqual((await store.list()).toSorted(), ["a1", "a2"])
    assert.equal(warnings.length, 1)
  }
  await using keeping = await realRegistry({ deletes: false })
  const store = storeAt("agents", oneHome, keeping)
  await store.put("a1", project(), { configEnv: {} })
  await store.remove("a1")
  assert.deepEqual(await store.list(), ["a1"])
})

/** The registry, which answers some requests with another status. @param refuses  by the method of a request */
const refusing = (refuses: (method: string) => number | undefined) =>
  portServer((request, response) => {
    const { url, method, headers } = request
    if (url?.startsWith("/token")) return void response.writeHead(403).end()
    const challenge = `Bearer realm="http://${headers.host}/token"`
    const status = refuses(method ?? "")
    if (status !== undefined) return void response.writeHead(status, { "www-authenticate": challenge }).end()
    const sent = ask(new URL(url ?? "/", real.origin), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(sent)
  })
