/** A package index on this machine: `/simple/` shows its packages, `/private/` asks for credentials that nobody has. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const script = fileURLToPath(new URL("../../../src/python/testing/make_packages.py", import.meta.url))

export interface PackageIndex extends AsyncDisposable {
  readonly url: string
}

export async function startPackageIndex(python: string): Promise<PackageIndex> {
  const folder = temporaryFolder()
  execFileSync(python, [script], { cwd: folder })
  const files = readdirSync(folder)
  const server = createServer(({ url = "" }, response) => {
    if (url.startsWith("/private/")) return response.writeHead(401, { "www-authenticate": "Basic" }).end()
    const name = /^\/simple\/([^/]+)\/$/.exec(url)?.[1]
    const found = files.filter((file) => (name === undefined ? file === basename(url) : file.startsWith(`${name}-`)))
    if (found.length === 0) return response.writeHead(404).end()
    if (name === undefined) return response.end(readFileSync(join(folder, found[0] ?? "")))
    const requires = name === "future" ? ' data-requires-python="&gt;=3.99"' : ""
    const links = found.map((file) => `<a href="/files/${file}"${requires}>${file}</a>`)
    return response.setHeader("content-type", "text/html").end(links.join("\n"))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const dispose = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: dispose }
}
