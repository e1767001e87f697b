/**
 * Makes a fresh clone ready to run: the right Node, the packages of the lock file, the compiled sources.
 * Needs nothing but Node, since it runs before anything is installed. When all is in place it ends in milliseconds.
 */
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")

// Below this a step is not worth a line.
const patienceMs = 1000

/** @throws SetupFailed  with one sentence that says what to do */
export async function setUp() {
  const problem = nodeProblem(process.versions.node, readJson("package.json").engines.node)
  if (problem) throw new SetupFailed(problem)
  const missing = missingPackages(readJson("package-lock.json"), readJson("node_modules/.package-lock.json"))
  if (missing.length > 0) await install()
  removeStaleOutput()
  if (sourcesAreNewer()) await build()
}

/** A step of the setup failed; what it printed has been shown. */
export class SetupFailed extends Error {}

/** @param wanted  the form `>=20.19` of our package.json */
export function nodeProblem(version, wanted) {
  const [major, minor] = wanted.replace(">=", "").split(".").map(Number)
  const [haveMajor, haveMinor] = version.split(".").map(Number)
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return undefined
  return `Superstep needs Node ${major}.${minor} or newer, and this is ${version}: npx -y -p node@24 npm start`
}

/**
 * Compares what the lock file names with what npm says it put there. Contents, not dates: a checkout touches the
 * lock file without changing it. Optional packages of other platforms may be absent.
 */
export function missingPackages(lock, installed) {
  return Object.entries(lock?.packages ?? {})
    .filter(([path, wanted]) => path.includes("node_modules/") && !wanted.optional && !wanted.peer)
    .filter(([path, wanted]) => installed?.packages[path]?.version !== wanted.version)
    .map(([path]) => path)
}

async function install() {
  // `npm ci` starts from nothing; an existing folder is only brought up to date, since others may be running from it.
  const fresh = !existsSync(join(root, "node_modules"))
  const args = fresh ? ["ci"] : ["install"]
  await step("installing packages", "npm", [...args, "--no-fund", "--no-audit", "--loglevel=error"])
}

async function build() {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  await step("compiling", process.execPath, [tsc, "--build", "--pretty", "false"])
}

/** Runs a program quietly; its output is shown when it fails, and one line when it takes its time. */
export function step(name, program, args, cwd = root) {
  const started = Date.now()
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
  const output = []
  child.stdout.on("data", (chunk) => output.push(chunk))
  child.stderr.on("data", (chunk) => output.push(chunk))
  let announced = false
  const announce = setTimeout(() => {
    announced = true
    process.stderr.write(`  ${name} …`)
  }, patienceMs)
  return new Promise((done, failed) => {
    child.once("error", (error) => failed(new SetupFailed(`${name}: cannot run ${program}: ${error.message}`)))
    child.once("close", (code) => {
      clearTimeout(announce)
      if (announced) process.stderr.write(` ${((Date.now() - started) / 1000).toFixed(1)} s\n`)
      if (code === 0) return done()
      failed(new SetupFailed(`${Buffer.concat(output)}\n${name} failed (${[program, ...args].join(" ")})`))
    })
  })
}

/** The folders of the workspaces that are compiled. */
export function packages() {
  return readJson("tsconfig.json").references.map(({ path }) => path)
}

const newest = (files) => Math.max(0, ...files.map((file) => statSync(file).mtimeMs))

function sourcesAreNewer() {
  return packages().some((folder) => {
    const sources = filesBelow(join(root, folder, "src")).filter((file) => /\.tsx?$/.test(file))
    const stamp = join(root, folder, "dist/.tsbuildinfo")
    if (sources.length === 0) return false
    const settings = [join(root, folder, "tsconfig.json"), join(root, "tsconfig.base.json")]
    return !existsSync(stamp) || newest([...sources, ...settings]) > statSync(stamp).mtimeMs
  })
}

/** What was compiled from a source that is gone would still be imported, and its tests would still run. */
function removeStaleOutput() {
  for (const folder of packages()) {
    const dist = join(root, folder, "dist")
    for (const file of filesBelow(dist).filter((name) => name.endsWith(".js"))) {
      const source = join(root, folder, "src", file.slice(dist.length + 1, -3))
      if (existsSync(`${source}.ts`) || existsSync(`${source}.tsx`)) continue
      for (const ending of [".js", ".js.map", ".d.ts", ".d.ts.map"]) rmSync(file.slice(0, -3) + ending, { force: true })
    }
  }
}

/** All files below a folder, as absolute paths in a steady order; none when the folder is missing. */
export function filesBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.includes("/node_modules/"))
    .sort()
}

function readJson(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined
}

/** Says in words why a script ends, without a stack for what the reader can mend. */
export function explain(error) {
  process.stderr.write(`${error instanceof SetupFailed ? error.message : (error?.stack ?? error)}\n`)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setUp().catch(explain)
