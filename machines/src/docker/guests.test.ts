/** Images that somebody else built, from a real registry, in a real engine. */

import assert from "node:assert/strict"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test as nodeTest } from "node:test"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { v7 as newId } from "uuid"
import { ImageRefused } from "../port/errors.js"
import type { Artifacts, UnitSpec, Units } from "../port/port.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { askStatus } from "../unit-client/unit-client.js"
import { ask } from "../unit-client/unit-request.js"
import { imageName } from "./artifact-images.js"
import { inspectImage } from "./base-image.js"
import { EngineFailed } from "./engine.js"
import { artifactIdOf, guestImages, refusalOf, withGuests } from "./guest-images.js"
import { engineHeader } from "./registry-auth.js"
import { credentialsFor, imageOfOthers, pushed } from "./testing/images-of-others.js"
import { dockerPlace, noEngine, removeTestImages, testEngine } from "./testing/place.js"

const skip =
  noEngine ||
  unlessWide("needs the Debian package docker-registry") ||
  (!hasRegistry() && "docker-registry is not installed")
const test = testUnless(skip)
after(() => (skip ? undefined : removeTestImages()))

const token = new Secret("the-token")
const never = new AbortController().signal

const unitOf = (artifactId: string): UnitSpec =>
  unitSpec({
    name: "guest",
    artifactId,
    token,
    databaseUri: new Secret("postgres://unit@db.example/unit"),
    secrets: secretsOf({ MODEL_KEY: "sk-1" }),
    memoryMb: undefined,
  })

const at = (units: Units, { unitId }: UnitSpec) => ({ address: units.address(unitId), token })
const reply = async (units: Units, unit: UnitSpec, path: string) => (await ask(at(units, unit), "GET", path)).body
const untilReady = (units: Units, unit: UnitSpec) =>
  until(async () => (await askStatus(at(units, unit)).catch(() => undefined))?.ready, { what: "the guest is ready" })

test("an image that somebody else built runs as a unit, confined, and is started again when one of its two containers ends (R1, R3, R5)", async () => {
  await using registry = await realRegistry()
  const reference = pushed(imageOfOthers(`127.0.0.1:${registry.port}/team/guest:1`, "one"))
  const place = dockerPlace({ user: () => ({ uid: 200_077, gid: 200_077 }) })
  const { artifact, digest } = await place.guests.adopt({ deploymentId: newId(), reference, pullSecrets: [] }, never)
  assert.ok(reference.endsWith(digest))
  const units = place.units()
  const unit = unitOf(artifact.artifactId)

  await Promise.all([units.start(unit), units.start(unit)])
  await untilReady(units, unit)

  assert.deepEqual(await units.status(unit.unitId), { state: "running" })
  assert.equal(await reply(units, unit, "/version"), "one")
  const env = JSON.parse(await reply(units, unit, "/env"))
  assert.deepEqual([env.uid, env.PORT, env.MODEL_KEY], [200_077, "8000", "sk-1"])
  assert.equal(env.DATABASE_URI, "postgres://unit@db.example/unit")
  assert.ok(!JSON.stringify(env).includes("the-token"))
  await until(async () => (await units.logs(unit.unitId, "")).lines.includes("guest one starts"), {
    what: "its output",
  })
  const found = await place.containers.find(unit.unitId)
  assert.deepEqual(await place.containers.list(), [found], "the companion is no unit")

  const companion = await place.containers.companionOf(unit.unitId)
  await place.containers.kill(companion?.id ?? "")
  assert.deepEqual(await units.status(unit.unitId), { state: "exited" })
  await units.start(unit)
  await untilReady(units, unit)
  await ask(at(units, unit), "GET", "/exit").catch(() => undefined)
  await until(async () => (await units.status(unit.unitId)).state === "exited", { what: "it has exited" })
  await units.start(unit)
  await untilReady(units, unit)

  await units.stop(unit.unitId, { graceMs: 1000 })
  assert.deepEqual(await units.status(unit.unitId), { state: "absent" })
  assert.equal(await place.containers.companionOf(unit.unitId), undefined)
  await units.remove(unit.unitId)
  assert.deepEqual(await units.list(), [])
  await place.images.remove(artifact.artifactId)
})

test("a private registry gives an image only to deployments that name its credentials, also when the engine has it", async () => {
  await using registry = await realRegistry({ hasPasswords: true })
  const name = imageOfOthers(`127.0.0.1:${registry.port}/team/private:1`, "one")
  const reference = pushed(name, credentialsFor(registry.port))
  const authFolder = credentialsFor(registry.port, temporaryFolder(), "team.json")
  const place = dockerPlace({ authFolder })
  const adopt = (...pullSecrets: string[]) =>
    place.guests.adopt({ deploymentId: newId(), reference, pullSecrets }, never)
  const refused = (pattern: RegExp) => (error: unknown) =>
    error instanceof ImageRefused && error.code === "source_auth" && pattern.test(error.message)

  await assert.rejects(adopt(), refused(/name credentials in resource_spec\.image_pull_secrets/))
  await assert.rejects(adopt("other"), refused(/names other, which this installation does not have/))
  await assert.rejects(adopt("../team"), refused(/does not have/))
  const { artifact } = await adopt("team")
  await assert.rejects(adopt(), refused(/name credentials/))

  credentialsFor(registry.port, authFolder, "default.json")
  const usual = await adopt()
  rmSync(join(authFolder, "default.json"))
  writeFileSync(join(authFolder, "team.json"), "no json")
  await assert.rejects(adopt("team"), refused(/team\.json has no usable credentials/))
  for (const { artifactId } of [artifact, usual.artifact]) await place.images.remove(artifactId)
})

test("a removed artifact leaves nothing of its image in the engine, unless another artifact has the same image", async () => {
  await using registry = await realRegistry()
  const reference = pushed(imageOfOthers(`127.0.0.1:${registry.port}/team/shared:1`, "one"))
  const place = dockerPlace()
  const { engine, homeId, guests } = place
  const folderOf = (artifactId: string) => join(place.folders.artifacts, artifactId)
  const local = { remove: async (artifactId: string) => rmSync(folderOf(artifactId), { recursive: true }) } as Artifacts
  const artifacts = withGuests(local, { guests, folderOf, removeImage: place.images.remove })
  const adopt = () => guests.adopt({ deploymentId: newId(), reference, pullSecrets: [] }, never)
  const first = (await adopt()).artifact.artifactId
  const second = (await adopt()).artifact.artifactId
  const { Id } = (await inspectImage(engine, reference)) ?? {}

  await artifacts.remove(first)
  assert.equal((await inspectImage(engine, imageName(homeId, second)))?.Id, Id)
  await artifacts.remove(second)

  assert.equal(await inspectImage(engine, `${Id}`), undefined)
})

test("a missing image fails with the registry's words, and a registry that is away may come back", async () => {
  const engine = testEngine()
  const guests = guestImages({ engine, homeId: newId(), folderOf: () => temporaryFolder(), authFolder: undefined })
  const adopt = (reference: string) => guests.adopt({ deploymentId: newId(), reference, pullSecrets: [] }, never)
  let port: number
  {
    await using registry = await realRegistry()
    port = registry.port
    const none = (error: unknown) => error instanceof ImageRefused && error.code === "source_not_found"
    await assert.rejects(adopt(`127.0.0.1:${port}/team/none:1`), none)
    await assert.rejects(adopt("Not A Name"), none)
  }
  await assert.rejects(adopt(`127.0.0.1:${port}/team/none:1`), EngineFailed)
})

nodeTest("an engine reads credentials with all padding, and in the alphabet of addresses", () => {
  const header = engineHeader({ user: "me", password: new Secret("~~~???") }, "r.example").reveal()

  assert.match(header, /^[\w-]+=*$/)
  assert.equal(header.length % 4, 0)
  assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), {
    username: "me",
    password: "~~~???",
    serveraddress: "r.example",
  })
})

for (const [words, code] of [
  ["unauthorized: authentication required", "source_auth"],
  ["pull access denied for a, repository does not exist or may require 'docker login'", "source_auth"],
  ["manifest for r.example/a:1 not found: manifest unknown", "source_not_found"],
  ["no matching manifest for linux/amd64 in the manifest list entries", "source_unsupported"],
  ["dial tcp: lookup r.example: no such host", undefined],
] as const)
  nodeTest(`${code ?? "an error that may pass"} is what a registry means by: ${words}`, () => {
    const error = refusalOf("r.example/a:1", new EngineFailed(words))
    assert.equal(error instanceof ImageRefused ? error.code : undefined, code)
  })

nodeTest("each deployment has its own artifact of an image", () => {
  const value = { reference: "r.example/a@sha256:1", pullSecrets: [] }
  assert.notEqual(artifactIdOf("d1", value), artifactIdOf("d2", value))
  assert.match(artifactIdOf("d1", value), /^image-[0-9a-f]{40}$/)
})
