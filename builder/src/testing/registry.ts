/** A package registry with one package, as npm requests it: a description, and the archive that it names. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

export interface Registry extends AsyncDisposable {
  readonly url: string
  /** A project that needs the package, with its lock file. */
  readonly project: Readonly<Record<string, string>>
  /** How often the archive was fetched. */
  readonly fetches: () => number
}

export async function registryWith(name: string, source: string): Promise<Registry> {
  const manifest = { name, version: "1.0.0", type: "module", main: "index.js" }
  const archive = pack(manifest, source)
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`
  let fetches = 0
  const server = createServer((request, reply) => {
    if (request.url === `/${name}.tgz`) {
      fetches += 1
      reply.end(archive)
      return
    }
    const dist = { tarball: `${url}/${name}.tgz`, integrity }
    const body = { name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": { ...manifest, dist } } }
    reply.setHeader("content-type", "application/json").end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const root = { name: "app", version: "1.0.0", dependencies: { [name]: "1.0.0" } }
  const packages = {
    "": root,
    [`node_modules/${name}`]: { version: "1.0.0", resolved: `${url}/${name}.tgz`, integrity },
  }
  const lock = { name: "app", version: "1.0.0", lockfileVersion: 3, requires: true, packages }
  return {
    url,
    project: { "package.json": JSON.stringify(root), "package-lock.json": JSON.stringify(lock) },
    fetches: () => fetches,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pack(manifest: { name: string }, source: string): Buffer {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "package"))
  writeFileSync(join(folder, "package", "package.json"), JSON.stringify(manifest))
  writeFileSync(join(folder, "package", "index.js"), source)
  const archive = join(folder, "package.tgz")
  execFileSync("tar", ["-czf", archive, "-C", folder, "package"])
  return readFileSync(archive)
}
