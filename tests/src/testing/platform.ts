/** A whole installation, on the machine of this run: by default `superstep up` as a real process, with a data folder and ports of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { readdir, readFile, readlink } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { childrenOf, send } from "@superstep/toolkit/testing/processes"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { apiOf, type Credentials, type Platform, type PlatformOptions } from "./installation.js"
import { startInstalledChart } from "./installed-chart.js"
import { machineOfRun, openMachine } from "./machines/machine-of-run.js"
import type { MachineOfLocalPlatform } from "./machines/port.js"

const program = fileURLToPath(import.meta.resolve("superstep/main"))

/** `superstep up` on this computer. */
export interface LocalPlatform extends Platform {
  readonly home: string
  /** The process of `superstep up`. */
  readonly pid: number
  /** Its exit code, once it has ended; null when it was killed. */
  readonly ended: Promise<number | null>
  /** As `controlPid`, of the edge. */
  edgePid(): Promise<number | undefined>
}

export interface LocalOptions extends PlatformOptions {
  readonly home?: string
  /** Where its agents run; default the machine of this run. */
  readonly machine?: MachineOfLocalPlatform
  /** Whose program it is; default this clone. Another release also makes its own Postgres cluster. */
  readonly release?: { readonly folder: string }
}

/** Command lines of living processes that have to do with a folder, this one's and its children's left out. */
export async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const found = pids.map(async (pid) => {
    // One that has ended meanwhile, or is another user's, says nothing.
    const text = (file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")
    const about = [await text("cmdline"), await readlink(`/proc/${pid}/cwd`).catch(() => ""), await text("environ")]
    return about.some((part) => part.includes(folder)) ? about[0]?.replaceAll("\0", " ").trim() : undefined
  })
  return (await Promise.all(found)).filter((line) => line !== undefined && line !== "") as string[]
}

/** The living processes with such a title. */
export async function pidsOf(title: RegExp): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const isOne = async (pid: string) =>
    // One that has ended meanwhile has no title.
    title.test((await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " "))
  const found = await Promise.all(pids.map(isOne))
  return pids.filter((_, n) => found[n]).map(Number)
}

/** Starts an installation on the machine of this run, and waits until its API answers. Disposing of it ends it, and proves that nothing is left. */
export const startPlatform = (options: PlatformOptions = {}): Promise<Platform> =>
  machineOfRun === "chart" ? startInstalledChart(options) : startLocalPlatform(options)

/**
 * The same by `superstep up`, for tests of that program or of its data folder. Disposing of it sends the Ctrl-C of a terminal. A process that
 * exits before stops it, too.
 */
export async function startLocalPlatform({
  env = {},
  home = temporaryFolder(),
  release,
  ...options
}: LocalOptions = {}): Promise<LocalPlatform> {
  const [port, agentsPort] = [await freePort(), await freePort()]
  const cli = release ? join(release.folder, "cli/programs/main.js") : program
  if (!release && !existsSync(join(home, "postgres"))) await preparedCluster(join(home, "postgres"))
  const machine = options.machine ?? (await openMachine(home))
  const args = ["up", "--home", home, "--port", `${port}`, "--agents-port", `${agentsPort}`, "--no-example"]
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: home,
    // One worker is enough for what most tests ask, and each of them starts a process that loads LangGraph.
    env: { ...withoutSettings(), SUPERSTEP_WORKERS: "1", SUPERSTEP_FETCH_NODE: "0", ...machine.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let printed = ""
  for (const output of [child.stdout, child.stderr]) output.setEncoding("utf8").on("data", (text) => (printed += text))
  const ended = once(child, "close").then(([code]) => code as number | null)
  const stopAtExit = () => stopNow(child)
  // Before the hook that removes the folder.
  process.prependOnceListener("exit", stopAtExit)
  child.once("exit", () => process.off("exit", stopAtExit))
  const credentials = await untilUp(child, join(home, "credentials.json"), () => printed)
  return {
    home,
    credentials,
    agentsUrl: `http://127.0.0.1:${agentsPort}`,
    api: apiOf(credentials),
    pid: child.pid ?? 0,
    ended,
    output: () => printed,
    controlPid: () => listenerOf(port),
    edgePid: () => listenerOf(agentsPort),
    machine,
    [Symbol.asyncDispose]: async () => {
      await interrupt(child, () => printed)
      const left = await machine.leftovers()
      if (left.length > 0) throw new Error(`superstep up has left ${left.join(", ")}:\n${printed}`)
    },
  }
}

async function untilUp(child: ChildProcess, file: string, printed: () => string): Promise<Credentials> {
  const isUp = async () => {
    if (child.exitCode !== null) throw new Error(`superstep up ended with code ${child.exitCode}:\n${printed()}`)
    const text = await readFile(file, "utf8").catch(ifCode(["ENOENT"]))
    const credentials = text === undefined ? undefined : (JSON.parse(text) as Credentials)
    const isHealthy =
      credentials &&
      (await fetch(`${credentials.url}/health`).then(
        (r) => r.ok,
        () => false,
      ))
    return isHealthy ? credentials : undefined
  }
  return until(isUp, { what: "the installation is up", timeoutMs: 60_000 })
}

/** What Ctrl-C does, and the proof that it ended well. */
async function interrupt(child: ChildProcess, printed: () => string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGINT")
    await once(child, "exit")
  }
  if (child.exitCode !== 0)
    throw new Error(`superstep up ended with ${child.exitCode ?? child.signalCode}:\n${printed()}`)
}

/** Stops it without waiting for its runs, as a second Ctrl-C does. At the exit of this process nothing can wait for promises. */
function stopNow({ pid = 0 }: ChildProcess): void {
  const clock = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; childrenOf(process.pid).includes(pid) && waits < 60; waits++) {
    send(pid, "SIGINT")
    Atomics.wait(clock, 0, 0, 500)
  }
}

/** Settings of whoever runs the tests must not reach the installation. */
export const withoutSettings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SUPERSTEP_|DATABASE_URI$|NODE_TEST_)/.test(name)),
  )

/** The process that listens on a port of this machine, found as `ss` does it: through /proc. */
async function listenerOf(port: number): Promise<number | undefined> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  const table = await readFile("/proc/net/tcp", "utf8")
  const line = table.split("\n").find((row) => row.includes(`:${hex} 00000000:0000 0A`))
  const inode = line?.trim().split(/\s+/)[9]
  if (inode === undefined) return undefined
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    // One that has ended meanwhile, or is another user's, is not the one.
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    for (const file of files) {
      // A file that was closed meanwhile is not its socket.
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => "")
      if (target === `socket:[${inode}]`) return Number(pid)
    }
  }
  return undefined
}
