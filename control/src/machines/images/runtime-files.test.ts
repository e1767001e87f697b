import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runtimeFiles } from "./runtime-files.js"

/** Packages as npm installs the published one: ours are below `lib` and have no dependencies, and the outer one has none of ours. */
function publishedPackage(): (file: string) => string {
  const folder = join(temporaryFolder(), "node_modules/superstep")
  const manifests = { "": "superstep", "lib/server": "@superstep/server", "lib/workers/js": "@superstep/worker-js" }
  const files = {
    ...Object.fromEntries(
      Object.entries(manifests).map(([path, name]) => [join(path, "package.json"), JSON.stringify({ name })]),
    ),
    "lib/server/programs/main.js": "",
    "lib/workers/js/programs/verify.js": "",
    "lib/workers/python/verify.py": "",
    "lib/protocol/worker/frames.schema.json": "",
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return (file) => join(folder, file)
}

test("units of the published package get the schema of the protocol, at its place beside the worker", async () => {
  const at = publishedPackage()

  const { parts } = await runtimeFiles(
    {
      server: at("lib/server/programs/main.js"),
      verify: at("lib/workers/js/programs/verify.js"),
      verifyPython: at("lib/workers/python/verify.py"),
    },
    at("lib/protocol/worker/frames.schema.json"),
  )

  const places = new Map(parts.map(({ from, to }) => [from, to]))
  const schema = places.get(at("lib/protocol/worker/frames.schema.json")) ?? "missing"
  const worker = places.get(at("lib/workers/js/programs")) ?? "missing"
  assert.equal(join(worker, "../../../protocol/worker/frames.schema.json"), schema)
})
