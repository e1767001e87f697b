/**
 * Prepares a clone: checks the version of Node, installs the packages of the lock file, compiles the sources and bundles the
 * programs and the console. It uses only Node's own modules, since it runs before anything is installed. It skips steps that are up to date.
 * `npm start` needs less than the other commands: the compiler's output is for tests, and packages that only tests, benches or checks use
 * are not installed. In a fresh clone it runs twice: what runs comes first, and the console's packages, half of all files, after the start.
 */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { constants, setPriority } from "node:os"
import { dirname, join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { buildConsole, consoleIsStale } from "./console.mjs"
import { buildPrograms, programsAreStale } from "./programs.mjs"

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")

// Shorter steps are not shown.
const quietMs = 1000
// How often a command looks whether another one still prepares the clone.
const pollMs = 200
// How often a terminal, and a log, show that a step goes on.
const terminalTickMs = 200
const logTickMs = 10_000

/**
 * One set-up at a time prepares a clone; others wait for it.
 * @param toStart       prepares only what `npm start` needs
 * @param consoleLater  leaves the console out in a fresh clone: a second call prepares it
 * @param background    prints nothing, since the terminal is in use, and stops npm at this signal
 * @throws SetupFailed  with a sentence that says what to do
 */
export async function setUp({ toStart = false, consoleLater = false, background } = {}) {
  const problem = nodeProblem(process.versions.node, readJson("package.json").engines.node)
  if (problem) throw new SetupFailed(problem)
  const release = await soleSetup(background)
  try {
    const installed = installedPackages()
    const withoutConsole = consoleLater && installed === undefined
    if (missingPackages(readJson("package-lock.json"), installed, { toStart }).length > 0)
      await install(npmArguments({ installed, toStart, withoutConsole }), background)
    if (!toStart) {
      removeStaleOutput()
      if (sourcesAreNewer()) await compile()
    }
    // Not both if one is stale: a program that is built again is another file under the agents that run from it.
    const builds = [programsAreStale() && buildPrograms, !withoutConsole && consoleIsStale() && buildConsole].filter(
      Boolean,
    )
    if (builds.length > 0) await step("bundling", () => bundle(builds), background)
  } finally {
    release()
  }
}

async function bundle(builds) {
  await Promise.all(builds.map((build) => build()))
  // Its process would stay as long as this one, which for `npm start` is until Superstep stops.
  const { stop } = await import("esbuild")
  await stop()
}

/**
 * Waits until no other process prepares this clone: two npms would damage each other's files. A socket without a file is free again when its
 * process dies, however it dies. Only Linux has them; elsewhere nothing waits.
 * @returns  lets the next one begin
 */
export async function soleSetup(background) {
  if (process.platform !== "linux") return () => {}
  let server = await listening()
  if (!server) await step("waiting for another command that prepares this clone", untilFree, background)
  async function untilFree() {
    while (!server) {
      await pause(pollMs, undefined, { signal: background })
      server = await listening()
    }
  }
  return () => server.close()
}

/** @returns  undefined while another process has the name */
function listening() {
  const server = createServer()
  return new Promise((done, failed) => {
    server.once("error", (error) => (error.code === "EADDRINUSE" ? done(undefined) : failed(error)))
    server.listen(`\0superstep setup ${root}`, () => done(server))
  })
}

/** A step of the setup failed; the message includes its output. */
export class SetupFailed extends Error {}

/** A signal stopped a step. */
class SetupStopped extends SetupFailed {}

/** @param wanted  the form `>=20.19` of our package.json */
export function nodeProblem(version, wanted) {
  const [major, minor] = wanted.replace(">=", "").split(".").map(Number)
  const [haveMajor, haveMinor] = version.split(".").map(Number)
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return undefined
  return `Superstep requires Node ${major}.${minor} or newer, and this is ${version}: run npx -y -p node@24 npm start`
}

/**
 * Compares the lock file with npm's list of installed packages. It compares contents and not times, since a checkout touches
 * the lock file without changing it. Optional packages of other platforms may be absent.
 * @param toStart  without packages that only development needs
 */
export function missingPackages(lock, installed, { toStart = false } = {}) {
  return Object.entries(lock?.packages ?? {})
    .filter(([path, wanted]) => path.includes("node_modules/") && !wanted.optional && !wanted.peer)
    .filter(([, wanted]) => !(toStart && wanted.dev))
    .filter(([path, wanted]) => {
      const found = installed?.packages[path]
      // Our own packages are links, without a version.
      return found?.version !== wanted.version || (wanted.link && installed !== undefined && found === undefined)
    })
    .map(([path]) => path)
}

const unfinished = join(root, "node_modules/.unfinished")

/** @returns  npm's list; undefined when there is none that is true, after an installation that was killed */
const installedPackages = () => (existsSync(unfinished) ? undefined : readJson("node_modules/.package-lock.json"))

/** npm takes a package that it has unpacked partially for a complete one, so what a kill leaves is not used. It cleans up after its own errors. */
async function install(args, background) {
  mkdirSync(dirname(unfinished), { recursive: true })
  writeFileSync(unfinished, "")
  let wasKilled = false
  try {
    await commandStep("installing packages", "npm", args, { background })
  } catch (error) {
    wasKilled = error instanceof SetupStopped
    throw error
  } finally {
    if (!wasKilled) rmSync(unfinished, { force: true })
  }
}

/** The workspaces without the console, tests and benches. */
export const platform = () =>
  readJson("package.json").workspaces.filter((path) => !["console", "tests", "bench"].includes(path))

/**
 * `npm ci` deletes an existing folder. `npm install` only updates it, since running processes may use its files.
 * @param installed  what `installedPackages` returns
 */
export function npmArguments({ installed, toStart, withoutConsole }) {
  // An installation with packages for development keeps them: `npm test` would install them again.
  const hasDevelopmentPackages = Object.values(installed?.packages ?? {}).some(({ dev }) => dev)
  return [
    installed === undefined ? "ci" : "install",
    toStart && !hasDevelopmentPackages ? "--omit=dev" : "--include=dev",
    ...(withoutConsole ? ["--include-workspace-root", ...platform().map((path) => `--workspace=${path}`)] : []),
    // It would touch the lock file, which programs compare with the one they were built from (programs.mjs).
    "--no-save",
    ...["--no-fund", "--no-audit", "--loglevel=error"],
  ]
}

async function compile() {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  await commandStep("compiling", process.execPath, [tsc, "--build", "--pretty", "false"])
}

/**
 * For a step that takes longer than a second it prints what is being done and for how long: on one line of a terminal, and every 10 s on a
 * line of its own elsewhere.
 */
async function step(name, work, background) {
  const progress = background ? undefined : showProgress(name)
  try {
    await work()
  } finally {
    progress?.end()
  }
}

const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"]

/**
 * A step that is a program; its output is printed only if it fails. A signal kills the program and its children: by itself npm would unpack
 * everything and then delete it, while the next command installs.
 */
export const commandStep = (name, program, args, { cwd = root, background } = {}) =>
  step(
    name,
    async () => {
      background?.throwIfAborted()
      // As a group of its own it gets no Ctrl-C of the terminal.
      const child = spawn(program, args, { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] })
      // The first deployment goes on meanwhile.
      if (background && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
      const output = []
      child.stdout.on("data", (chunk) => output.push(chunk))
      child.stderr.on("data", (chunk) => output.push(chunk))
      const kill = () => process.kill(-child.pid, "SIGKILL")
      background?.addEventListener("abort", kill)
      if (!background) for (const signal of stopSignals) process.on(signal, kill)
      const code = await new Promise((done, failed) => {
        child.once("error", (error) => failed(new SetupFailed(`${name}: cannot run ${program}: ${error.message}`)))
        child.once("close", done)
      }).finally(() => {
        background?.removeEventListener("abort", kill)
        for (const signal of stopSignals) process.off(signal, kill)
      })
      if (code === null) throw new SetupStopped(`stopped while ${name}: the same command continues`)
      if (code !== 0)
        throw new SetupFailed(`${Buffer.concat(output)}\n${name} failed (${[program, ...args].join(" ")})`)
    },
    background,
  )

/** @param out  a stream that may be a terminal: other streams get no line twice */
export function showProgress(name, out = process.stderr, started = Date.now()) {
  const seconds = () => (Date.now() - started) / 1000
  const isTerminal = out.isTTY === true
  const lineOf = (text) => (isTerminal ? `\r\x1b[K  ${name} … ${text}` : `  ${name} … ${text}\n`)
  let isShown = false
  const tick = () => {
    if (seconds() * 1000 < quietMs) return
    isShown = true
    out.write(lineOf(`${Math.floor(seconds())} s`))
  }
  const timer = setInterval(tick, isTerminal ? terminalTickMs : logTickMs)
  return {
    end: () => {
      clearInterval(timer)
      if (isShown || seconds() * 1000 >= quietMs)
        out.write(`${lineOf(`${seconds().toFixed(1)} s`)}${isTerminal ? "\n" : ""}`)
    },
  }
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

/** Removes compiled files whose source was deleted: they could still be imported, and their tests would still run. */
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

/** All files below a folder, as absolute paths in a stable order; none when the folder is missing. */
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

/** Prints why a script failed; without a stack for errors that the user can fix. */
export function explain(error) {
  process.stderr.write(`${error instanceof SetupFailed ? error.message : (error?.stack ?? error)}\n`)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setUp().catch(explain)
