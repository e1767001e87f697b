import assert from "node:assert/strict"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { writeJson } from "../../files/json-file.js"
import { RegistryFailed } from "../images/registry/client.js"
import { type BaseImagePlace, baseDigest, withDigest } from "./base-image.js"

const digest = `sha256:${"a".repeat(64)}`

/** After a start at which this image was looked into. */
async function placeAfter(image: string): Promise<BaseImagePlace> {
  const folder = temporaryFolder()
  await writeJson(join(folder, "base.json"), { image: withDigest(image, digest), asked: "", inside: {} })
  return { folder } as BaseImagePlace
}

const fails = (status?: number) => () => Promise.reject(new RegistryFailed("no answer", status))

test("while the registry of the base image is away, the image that was used last is used", async () => {
  const place = await placeAfter("images.example.com:5000/team/node:20")

  assert.equal(await baseDigest(place, "images.example.com:5000/team/node:20", fails()), digest)
  assert.equal(await baseDigest(place, "images.example.com:5000/team/node:20", fails(503)), digest)
  await assert.rejects(baseDigest(place, "images.example.com:5000/team/other:20", fails()), RegistryFailed)
  await assert.rejects(baseDigest(place, "images.example.com:5000/team/node:20", fails(404)), RegistryFailed)
  await assert.rejects(baseDigest({ folder: temporaryFolder() } as BaseImagePlace, "node:20", fails()), RegistryFailed)
})
