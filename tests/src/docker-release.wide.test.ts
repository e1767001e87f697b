/** The image of the platform from its file: loaded into a real engine, and run without the repository. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { docker } from "@superstep/machines/docker/testing/images-of-others"
import { baseReference, noEngine } from "@superstep/machines/docker/testing/place"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { copyForPacking } from "superstep/testing/copy-for-packing"

const skip = noEngine || (!hasRegistry() && "docker-registry is not installed")

test("docker runs the loaded image: its command line, and its control plane, which names the settings that are missing", {
  skip,
}, async () => {
  await using registry = await realRegistry()
  const base = `127.0.0.1:${registry.port}/base:1`
  docker("tag", baseReference, base)
  docker("push", "--quiet", base)
  const copy = copyForPacking()
  const archive = join(temporaryFolder(), "image.tar")
  const options = ["--archive", archive, "--base", base]
  await promisify(execFile)(process.execPath, [join(copy, "scripts/releases/image.mjs"), ...options], { cwd: copy })

  const name = /^Loaded image: (superstep:\S+)$/m.exec(docker("load", "--input", archive))?.[1] ?? ""
  const run = (...args: string[]) => docker("run", "--rm", "--pull", "never", "--network", "none", ...args)

  assert.equal(`superstep:${run("--entrypoint", "superstep", name, "--version")}`, name)
  assert.throws(() => run(name), { message: /DATABASE_URI/ })
  docker("image", "rm", "--force", name, base)
})
