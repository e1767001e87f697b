/** The software bill of a release: a CycloneDX document of all packages in its files, which npm makes from our lock files. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { root } from "../setup.mjs"

const run = promisify(execFile)

/**
 * @param version   of the release
 * @param time      of the commit, which stands for that of the document: the same commit gives the same document
 * @param contents  the paths of package-lock.json that are in each file of the release, by the file's name
 * @param base      the digest of the image's base, if there is an image; its packages are not listed
 */
export async function softwareBill({ version, time, contents, base }) {
  const [own, docs] = await Promise.all([documentOf(root), documentOf(join(root, "docs"))])
  const all = {
    ...own.all,
    components: [...own.all.components, ...docs.all.components],
    dependencies: [...own.all.dependencies, ...docs.all.dependencies],
  }
  const ofDocs = Object.entries(docs.lock.packages).map(([path, entry]) => [`docs/${path}`, entry])
  const lock = { packages: { ...own.lock.packages, ...Object.fromEntries(ofDocs) } }
  return billOf({ all, lock, version, time, contents, base })
}

/** What npm says about a folder with a lock file. */
async function documentOf(folder) {
  const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"]
  const { stdout } = await run("npm", args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })
  return { all: JSON.parse(stdout), lock: JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) }
}

/** The part of npm's document that is about the release. Pure. */
export function billOf({ all, lock, version, time, contents, base }) {
  const places = new Map()
  for (const [file, paths] of contents)
    for (const path of paths) {
      const ref = refOf(path, lock)
      places.set(ref, [...(places.get(ref) ?? []), file])
    }
  const listed = new Map(all.components.map((component) => [component["bom-ref"], component]))
  const unknown = [...places.keys()].filter((ref) => !listed.has(ref))
  if (unknown.length > 0) throw new Error(`npm sbom does not list ${unknown.join(", ")}`)
  const packages = [...places].sort().map(([ref, files]) => ({
    ...listed.get(ref),
    scope: "required",
    properties: [...new Set(files)].map((file) => ({ name: "superstep:in", value: file })),
  }))
  const components = base === undefined ? packages : [...packages, baseImage(base)]
  const own = `superstep@${version}`
  return {
    ...all,
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([own, time, components]))}`,
    metadata: {
      ...all.metadata,
      timestamp: time,
      lifecycles: [{ phase: "build" }],
      component: {
        "bom-ref": own,
        type: "application",
        name: "superstep",
        version,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components,
    dependencies: [
      { ref: own, dependsOn: components.map((component) => component["bom-ref"]) },
      // Both lock files may name the same package.
      ...[...new Map(all.dependencies.map((each) => [each.ref, each])).values()]
        .filter(({ ref }) => places.has(ref))
        .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => places.has(other)) })),
    ],
  }
}

/** As npm names it in its document. */
function refOf(path, lock) {
  const { name, version } = lock.packages[path] ?? {}
  if (version === undefined) throw new Error(`${path} is in a package, but not in package-lock.json`)
  return `${name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)}@${version}`
}

const baseImage = (digest) => ({
  "bom-ref": `base@${digest}`,
  type: "container",
  name: "base image",
  version: digest,
  description: "Its packages are not listed here: scan the image for them.",
})

/** A UUID of version 8: its bits are those of a digest. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
