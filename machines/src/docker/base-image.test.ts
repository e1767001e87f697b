/** An engine that cannot look into the base image, and an image that has no Node. */
import assert from "node:assert/strict"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import type { RequestListener } from "node:http"
import { join } from "node:path"
import test from "node:test"
import { layoutIn } from "@superstep/oci/layout"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BaseImageUnfit } from "../parts/images/base-fit.js"
import { lookInside, removeFormerLayers } from "./base-image.js"
import { EngineFailed, engineAt } from "./engine.js"

/** An engine that creates containers, and gives this answer to the start of one. */
const engineThatStarts =
  (status: number, message: string): RequestListener =>
  ({ url = "" }, response) => {
    const isStart = url.endsWith("/start")
    response.writeHead(isStart ? status : 200, { "content-type": "application/json" })
    response.end(JSON.stringify(isStart ? { message } : { Id: "c1" }))
  }

const notFound = 'exec: "node": executable file not found in $PATH: unknown'

for (const [status, message] of [
  [400, `failed to create task for container: ${notFound}`],
  [500, "crun: executable file `node` not found in $PATH: No such file or directory"],
] as const)
  test(`an image without Node is unfit: ${status}, ${message}`, async () => {
    using server = await socketServer(engineThatStarts(status, message))

    await assert.rejects(
      lookInside(engineAt(server.socketPath), "alpine:3", []),
      (error) => error instanceof BaseImageUnfit && /alpine:3 does not start "node"/.test(error.message),
    )
  })

test("an engine that fails while it looks into an image does not blame the image", async () => {
  using server = await socketServer(engineThatStarts(500, "mkdir /var/lib/docker/overlay2/1: no space left on device"))

  await assert.rejects(
    lookInside(engineAt(server.socketPath), "node:20", []),
    (error) => error instanceof EngineFailed && /no space left on device/.test(error.message),
  )
})

test("at a start, layers of the present base stay, and all that former programs left goes", async () => {
  const layout = layoutIn(temporaryFolder())
  await removeFormerLayers(layout)
  const layerOf = async (content: string) => {
    const from = temporaryFolder()
    writeFileSync(join(from, "file"), content)
    return layout.addLayer([{ from, to: "app" }])
  }
  const [present, former] = [await layerOf("present"), await layerOf("former")]
  writeFileSync(join(layout.folder, "base.json"), JSON.stringify({ imageId: "i", base: { layers: [present] } }))
  writeFileSync(join(layout.folder, "1.partial"), "")
  mkdirSync(join(layout.folder, "2.partial", "blobs"), { recursive: true })

  await removeFormerLayers(layout)

  assert.deepEqual([await layout.has(present.blob), await layout.has(former.blob)], [true, false])
  assert.deepEqual(readdirSync(layout.folder).sort(), ["base.json", "blobs"])
})
