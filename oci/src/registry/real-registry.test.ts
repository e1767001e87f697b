import assert from "node:assert/strict"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { builtProject, smallImage } from "../testing/project.js"
import { breakingProxy, hasRegistry, realRegistry } from "../testing/real-registry.js"
import { registryAt } from "./client.js"
import { credentialsIn } from "./login-file.js"
import { findImage } from "./pull.js"
import { pushImage } from "./push.js"

const skip =
  unlessWide("needs the Debian package docker-registry") || (!hasRegistry() && "docker-registry is not installed")
const test = testUnless(skip)
const chunkBytes = 256 * 1024

test("a real registry stores an image, mounts its layers, and returns it as the base of another", async () => {
  await using server = await realRegistry()
  const registry = registryAt({ origin: server.origin })
  const { image, layout } = await smallImage(builtProject())
  const shared = { registry, image, read: layout.read, version: "v1", chunkBytes }

  const first = await pushImage({ ...shared, repository: "team/agent" })
  const again = await pushImage({ ...shared, repository: "team/agent" })
  const other = await pushImage({ ...shared, repository: "team/other", mountFrom: "team/agent" })

  assert.deepEqual([first.uploaded, again.present, other.mounted], [4, 4, 4])
  const found = await findImage(registry, { repository: "team/other", version: "v1" })
  assert.equal(found.digest, image.manifestDescriptor.digest)
  assert.deepEqual(found.base.layers, image.layers)
})

/** @returns  from which bytes on the layer was read whose upload broke off */
async function pushOverBreak(where: "before" | "within"): Promise<readonly number[]> {
  await using server = await realRegistry()
  using proxy = await breakingProxy(server.port, 6, where)
  const { image, layout } = await smallImage(builtProject())
  const read = new Map<string, number[]>()
  await pushImage({
    registry: registryAt({ origin: proxy.origin, delaysMs: [100, 500, 2000] }),
    repository: "team/agent",
    version: "v1",
    image,
    read: (digest, from) => {
      read.set(digest, [...(read.get(digest) ?? []), from])
      return layout.read(digest, from)
    },
    chunkBytes,
  })
  assert.ok(proxy.hasBroken())
  const found = await findImage(registryAt({ origin: server.origin }), { repository: "team/agent", version: "v1" })
  assert.equal(found.digest, image.manifestDescriptor.digest)
  const resumed = [...read.values()].filter((starts) => starts.length > 1)
  assert.equal(resumed.length, 1)
  return resumed[0] ?? []
}

test("a push to a real registry that breaks off between two chunks goes on with the next one", async () => {
  const [first, second = 0] = await pushOverBreak("before")

  assert.equal(first, 0)
  assert.ok(second > 0 && second % chunkBytes === 0, String(second))
})

// This registry refuses an upload of which it has more than it has confirmed.
test("a push to a real registry that breaks off within a chunk sends that layer again, and only that", async () => {
  assert.deepEqual(await pushOverBreak("within"), [0, 0])
})

test("a real registry with passwords takes an image from its user, and from nobody else", async () => {
  await using server = await realRegistry({ hasPasswords: true })
  const { image, layout } = await smallImage(builtProject())
  const pushAs = (password: string) =>
    pushImage({
      registry: registryAt({
        origin: server.origin,
        login: async () => ({ user: "robot", password: new Secret(password) }),
      }),
      repository: "team/agent",
      version: "v1",
      image,
      read: layout.read,
    })

  await assert.rejects(pushAs("forgotten"), Unauthenticated)
  assert.equal((await pushAs("wonderful")).digest, image.manifestDescriptor.digest)
})

/** Replaced in one step, as a kubelet does with the files of a Secret. */
function mountedSecret(host: string) {
  const folder = temporaryFolder()
  const write = (version: string, password: string) => {
    mkdirSync(join(folder, version))
    const auths = { [host]: { username: "robot", password } }
    writeFileSync(join(folder, version, "config.json"), JSON.stringify({ auths }))
    symlinkSync(version, join(folder, "..data.new"))
    renameSync(join(folder, "..data.new"), join(folder, "..data"))
  }
  write("..1", "forgotten")
  symlinkSync("..data/config.json", join(folder, "config.json"))
  return { path: join(folder, "config.json"), renew: () => write("..2", "wonderful") }
}

test("credentials that a real registry has refused are read again for the next request, from a Secret, too", async () => {
  await using server = await realRegistry({ hasPasswords: true })
  const { host } = new URL(server.origin)
  const secret = mountedSecret(host)
  const registry = registryAt({ origin: server.origin, login: () => credentialsIn(secret.path, host) })
  const ping = () => registry.ask("/v2/", { expect: [200] })
  await assert.rejects(ping(), Unauthenticated)
  await assert.rejects(ping(), Unauthenticated)

  secret.renew()

  assert.equal((await ping()).status, 200)
})
