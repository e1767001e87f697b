import assert from "node:assert/strict"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { InvalidInput, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Image } from "../image.js"
import type { Layout } from "../layout.js"
import { fakeRegistry } from "../testing/fake-registry.js"
import { builtProject, smallImage } from "../testing/project.js"
import { registryAt } from "./client.js"
import { parseChallenge } from "./credentials.js"
import { RegistryFailed } from "./failures.js"
import { findImage } from "./pull.js"
import { pushImage } from "./push.js"
import { originOf, parseReference } from "./reference.js"

const robot = { user: "robot", password: new Secret("wonderful") }
const delaysMs = [1, 1, 1]
const [mebibyte, repository, version] = [1024 * 1024, "team/agent", "v1"]

interface Built {
  readonly image: Image
  readonly layout: Layout
}

const push = (origin: string, { image, layout }: Built, more: { mountFrom?: string; repository?: string } = {}) =>
  pushImage({
    registry: registryAt({ origin, login: async () => robot, delaysMs }),
    repository,
    version,
    image,
    read: layout.read,
    chunkBytes: mebibyte,
    ...more,
  })

for (const auth of ["none", "basic", "token"] as const)
  test(`an image is pushed in chunks, and again without its layers (credentials: ${auth})`, async () => {
    using server = await fakeRegistry({ auth })
    const built = await smallImage(builtProject())

    const first = await push(server.origin, built)
    const again = await push(server.origin, built)

    assert.equal(first.digest, built.image.manifestDescriptor.digest)
    assert.deepEqual({ ...first, digest: "" }, { digest: "", present: 0, mounted: 0, uploaded: 4 })
    assert.deepEqual({ ...again, digest: "" }, { digest: "", present: 4, mounted: 0, uploaded: 0 })
    assert.deepEqual(server.manifest(`${repository}:${version}`), built.image.manifest)
    const sizes = built.image.layers.map(({ blob }) => server.blobsOf(repository).get(blob.digest)?.length)
    const expected = built.image.layers.map(({ blob }) => blob.size)
    assert.deepEqual(sizes, expected)
    // The layer with the file of two megabytes.
    assert.ok(server.requests.filter((request) => request.startsWith("PATCH")).length > 4)
  })

test("a push goes on after a break at any request", async () => {
  const built = await smallImage(builtProject())
  using counted = await fakeRegistry()
  await push(counted.origin, built)

  for (let at = 1; at <= counted.requests.length; at++) {
    let seen = 0
    using server = await fakeRegistry({ breaks: () => ++seen === at })
    await push(server.origin, built)
    assert.deepEqual(server.manifest(`${repository}:${version}`), built.image.manifest, `request ${at}`)
  }
})

test("a registry that stays away fails the push with its address, and no manifest is left", async () => {
  let isGone = false
  const leaves = (request: string) => {
    isGone ||= request.startsWith("PATCH")
    return isGone
  }
  using server = await fakeRegistry({ breaks: leaves })
  const built = await smallImage(builtProject())

  await assert.rejects(
    push(server.origin, built),
    (error) => error instanceof RegistryFailed && error.message.includes(new URL(server.origin).host),
  )
  assert.equal(server.manifest(`${repository}:${version}`), undefined)
})

test("a registry that forgets uploads again and again fails the push", async () => {
  let chunks = 0
  using server = await fakeRegistry({
    breaks: (request) => {
      if (!request.startsWith("PATCH")) return false
      chunks++
      // Every second chunk, so that the layer with three never comes to its end. After 50, so that a push without a limit ends.
      const isLost = chunks % 2 === 0 && chunks < 50
      if (isLost) server.forgetUploads()
      return isLost
    },
  })

  await assert.rejects(push(server.origin, await smallImage(builtProject())), RegistryFailed)
})

test("a layer whose last answer was lost is not sent again", async () => {
  const built = await smallImage(builtProject())
  using counted = await fakeRegistry()
  await push(counted.origin, built)
  let puts = 0
  using server = await fakeRegistry({
    breaks: (request) => /^PUT .*\/blobs\/uploads\//.test(request) && ++puts === 1,
  })

  await push(server.origin, built)

  const chunks = (requests: string[]) => requests.filter((request) => request.startsWith("PATCH")).length
  assert.equal(chunks(server.requests), chunks(counted.requests))
})

test("wrong credentials are refused with the name of the registry, and without the password", async () => {
  for (const auth of ["basic", "token"] as const) {
    using server = await fakeRegistry({ auth })
    const client = registryAt({
      origin: server.origin,
      login: async () => ({ user: "robot", password: new Secret("forgotten") }),
      delaysMs,
    })

    await assert.rejects(
      findImage(client, { repository, version }),
      (error) => error instanceof Unauthenticated && !error.message.includes("forgotten"),
    )
  }
})

test("names of images are read as engines read them", () => {
  const digest = `sha256:${"a".repeat(64)}`
  for (const [name, host, repository, version] of [
    ["node:20-slim", "registry-1.docker.io", "library/node", "20-slim"],
    ["localhost:5000/a/b", "localhost:5000", "a/b", "latest"],
    [`r.example.com/a:v1@${digest}`, "r.example.com", "a", digest],
  ] as const)
    assert.deepEqual(parseReference(name), { host, repository, version })
  assert.equal(originOf({ host: "localhost:5000" }), "http://localhost:5000")
  assert.equal(originOf({ host: "r.example.com" }), "https://r.example.com")
  for (const text of ["", "A/B", "a b", "a/../b", "a:", "a@sha256:1"])
    assert.throws(() => parseReference(text), InvalidInput)
})

test("challenges are read with and without quotes", () => {
  assert.deepEqual(parseChallenge('Bearer realm="https://a/token",service="b",scope="repository:x:pull,push"'), {
    scheme: "bearer",
    parameters: { realm: "https://a/token", service: "b", scope: "repository:x:pull,push" },
  })
  assert.equal(parseChallenge("Basic realm=here")?.parameters.realm, "here")
  assert.equal(parseChallenge("Digest realm=here"), undefined)
})
