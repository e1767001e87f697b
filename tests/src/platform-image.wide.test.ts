/** The image of the platform: made of a packed release, sent to a real registry, and run from what the registry has. */
import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import test from "node:test"
import { promisify } from "node:util"
import { appendLayers } from "@superstep/oci/image"
import { layoutIn } from "@superstep/oci/layout"
import { registryAt } from "@superstep/oci/registry/client"
import { findImage, readBlob } from "@superstep/oci/registry/pull"
import { pushImage } from "@superstep/oci/registry/push"
import { smallBase } from "@superstep/oci/testing/project"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { copyForPacking } from "superstep/testing/copy-for-packing"

const run = promisify(execFile)
const skip = !hasRegistry() && "docker-registry is not installed"

test("a registry gets the platform's image, whose edge and command line run without the repository", {
  skip,
}, async () => {
  await using server = await realRegistry()
  const registry = registryAt({ origin: server.origin })
  const host = server.origin.slice("http://".length)
  const layout = layoutIn(temporaryFolder())
  const image = appendLayers(await smallBase(layout), [], { Env: ["PATH=/usr/bin:/bin"] })
  await pushImage({ registry, repository: "base", version: "1", image, read: layout.read })

  const copy = copyForPacking()
  const options = ["--push", `${host}/superstep:test`, "--base", `${host}/base:1`]
  const { stdout } = await run(process.execPath, [join(copy, "scripts/releases/image.mjs"), ...options], { cwd: copy })

  const found = await findImage(registry, { repository: "superstep", version: "test" }, "amd64")
  assert.equal(found.digest, stdout.trim())
  const root = temporaryFolder()
  for (const { blob } of found.base.layers) await unpack(readBlob(registry, "superstep", blob.digest, 0), root)
  const own = join(root, "superstep/node_modules/superstep")
  const { stdout: version } = await run(process.execPath, [join(own, "bin/superstep.mjs"), "--version"])
  assert.match(version, /^\d+\.\d+\.\d+\n$/)
  await edgeAnswers(join(own, "lib/edge/programs/main.js"))
})

async function unpack(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const tar = spawn("tar", ["-x", "-C", folder], { stdio: ["pipe", "ignore", "inherit"] })
  const ended = once(tar, "exit")
  await pipeline(archive, tar.stdin)
  assert.equal((await ended)[0], 0)
}

/** Without a table it is not ready, and says so. */
async function edgeAnswers(program: string): Promise<void> {
  const admin = `http://127.0.0.1:${await freePort()}`
  const edge = spawn(process.execPath, [program], {
    env: {
      SUPERSTEP_EDGE_LISTEN: `http://127.0.0.1:${await freePort()}`,
      SUPERSTEP_EDGE_ADMIN: admin,
      SUPERSTEP_EDGE_WAKE: "http://127.0.0.1:1",
      SUPERSTEP_EDGE_TOKEN: "the token of a test, which is long enough",
      SUPERSTEP_EDGE_TABLE: join(temporaryFolder(), "table.json"),
    },
    stdio: ["ignore", "ignore", "inherit"],
  })
  const ended = once(edge, "exit")
  try {
    const status = await until(
      () =>
        fetch(`${admin}/ready`).then(
          (answer) => answer.status,
          () => undefined,
        ),
      {
        what: "the edge of the image answers",
      },
    )
    assert.equal(status, 503)
  } finally {
    edge.kill()
    await ended
  }
}
