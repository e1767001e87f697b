import assert from "node:assert/strict"
import test from "node:test"
import { RegistryFailed } from "@superstep/oci/registry/failures"
import { type BaseImagePlace, baseDigest, withDigest } from "./base-image.js"
import { knownBaseOf } from "./cluster/manifests.js"
import type { OwnedObjects } from "./cluster/owned-objects.js"

const digest = `sha256:${"a".repeat(64)}`

/** After a start at which this image was looked into; undefined: before the first one. */
function placeAfter(image: string | undefined): BaseImagePlace {
  const owner = { homeId: "one", namespace: "agents" }
  const known = image && knownBaseOf(owner, JSON.stringify({ image: withDigest(image, digest), asked: "", inside: {} }))
  const objects = { find: async () => known } as unknown as OwnedObjects
  return { ...owner, objects } as BaseImagePlace
}

const fails = (status?: number) => () => Promise.reject(new RegistryFailed("no answer", status))

test("while the registry of the base image is away, the image that was used last is used", async () => {
  const place = placeAfter("images.example.com:5000/team/node:20")

  assert.equal(await baseDigest(place, "images.example.com:5000/team/node:20", fails()), digest)
  assert.equal(await baseDigest(place, "images.example.com:5000/team/node:20", fails(503)), digest)
  await assert.rejects(baseDigest(place, "images.example.com:5000/team/other:20", fails()), RegistryFailed)
  await assert.rejects(baseDigest(place, "images.example.com:5000/team/node:20", fails(404)), RegistryFailed)
  await assert.rejects(baseDigest(placeAfter(undefined), "node:20", fails()), RegistryFailed)
})
