import { execFile } from "node:child_process"
import { statfs } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { decideIsolation } from "@superstep/control/runtimes/isolation"
import { openPortsWarning } from "@superstep/control/runtimes/open-ports"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { CliCommand } from "../command.js"
import type { Config } from "../config.js"
import { agentsOf } from "../home/agents.js"
import { readCredentials } from "../home/credentials.js"
import { startHomeDatabase } from "../home/database.js"
import { type Home, openHome } from "../home/home.js"
import { deploymentsOnLostPrograms } from "../home/lost-programs.js"
import { isOwned, takeOwnership } from "../home/owner.js"
import { readEntry } from "../home/owner-file.js"
import { homeOption } from "../options.js"
import { defaultPlace } from "../processes/default-place.js"
import { assertPortFree } from "../processes/ports.js"

interface Finding {
  readonly ok: boolean
  readonly words: string
}

/** Something that an installation needs is not there; the findings say what. */
export class NotReady extends KnownError {
  readonly code = "not_ready"
}

export const doctor: CliCommand<{ readonly home?: string }> = {
  words: "doctor",
  summary: "look whether this machine has what Superstep needs",
  options: [homeOption()],
  async run({ options, config, out }) {
    const home = await openHome(options.home ?? config.home)
    const findings = [
      nodeFinding(),
      await gitFinding(),
      ...(await installationFindings(home, config)),
      ...(await userFindings(home)),
    ]
    for (const { ok, words } of findings) out.line(`${ok ? out.style("green", "✔") : out.style("red", "✖")} ${words}`)
    const missing = findings.filter(({ ok }) => !ok).length
    if (missing > 0) throw new NotReady(`${missing} of ${findings.length} things need attention`)
  },
}

const nodeFinding = (): Finding => ({ ok: true, words: `Node ${process.versions.node}` })

async function gitFinding(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)("git", ["--version"])
    return { ok: true, words: stdout.trim() }
  } catch {
    // Any failure means the same to the reader.
    return { ok: false, words: "git is not installed: deployments from a repository need it" }
  }
}

/** A running installation has its ports and its Postgres already. */
async function installationFindings(home: Home, config: Config): Promise<Finding[]> {
  const writable = { ok: true, words: `data folder ${home.folder}` }
  const space = await spaceFinding(home)
  if (await isOwned(home)) {
    const runs = { ok: true, words: "Superstep runs on it" }
    return [writable, space, runs, await apiFinding(home), ...(await programsFinding(home))]
  }
  const { port, agentsPort } = { ...defaultPlace, ...(await readEntry(home.owner))?.place }
  // Nothing more is tried: Postgres outlived the program too, and a start of it here would end in a stop.
  if (await agentsOf(home).anyRuns()) return [writable, space, unattended(port, agentsPort)]
  const ports = await Promise.all([portFinding(port, "--port"), portFinding(agentsPort, "--agents-port")])
  return [writable, space, ...ports, await databaseFinding(home, config)]
}

/** After a kill of `superstep up`. */
const unattended = (port: number, agentsPort: number): Finding => ({
  ok: false,
  words: `agents run, and no superstep up looks after them: superstep up --port ${port} --agents-port ${agentsPort} goes on with them`,
})

// An agent with its packages takes about 200 MB, and Postgres needs room to work.
const leastBytes = 2 * 1024 ** 3

async function spaceFinding({ folder }: Home): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder)
  const words = `${(Number(bavail * bsize) / 1024 ** 3).toFixed(1)} GB free below it`
  return bavail * bsize >= leastBytes ? { ok: true, words } : { ok: false, words: `only ${words}: make room` }
}

/** An upgrade that was installed, and not taken over yet. */
async function programsFinding(home: Home): Promise<Finding[]> {
  const { length } = await deploymentsOnLostPrograms(home)
  if (length === 0) return []
  const toDo = "superstep up --take-over, or a restart of the service, deploys them anew"
  return [{ ok: false, words: `${length} agents run files that were replaced or removed: ${toDo}` }]
}

const patienceMs = 5000

/** A control plane that does not answer although its program runs is being restarted, or stands still. */
async function apiFinding(home: Home): Promise<Finding> {
  const credentials = await readCredentials(home)
  if (!credentials) return { ok: false, words: "it is not up yet: it has made no credentials" }
  const { url } = credentials
  try {
    const { status } = await fetch(`${url}/health`, { signal: AbortSignal.timeout(patienceMs) })
    if (status === 200) return { ok: true, words: `the control plane answers at ${url}` }
    return { ok: false, words: `the control plane at ${url} answers ${status}: see ${home.logs}` }
  } catch (error) {
    return { ok: false, words: `the control plane does not answer at ${url} (${messageOf(error)}): see ${home.logs}` }
  }
}

async function portFinding(port: number, option: string): Promise<Finding> {
  try {
    await assertPortFree({ host: "127.0.0.1", port, option })
    return { ok: true, words: `port ${port} is free` }
  } catch (error) {
    return { ok: false, words: messageOf(error) }
  }
}

async function databaseFinding(home: Home, config: Config): Promise<Finding> {
  try {
    await using _ownership = await takeOwnership(home, "superstep doctor")
    const database = await startHomeDatabase({ home, config, name: "superstep" })
    if (database.isOurs) await database.stop()
    return { ok: true, words: `${database.words} starts` }
  } catch (error) {
    return { ok: false, words: messageOf(error) }
  }
}

/** What keeps deployments apart depends on who starts us, and from where (architecture D12). */
async function userFindings(home: Home): Promise<Finding[]> {
  if (process.getuid?.() !== 0)
    return [{ ok: true, words: "not root: deployments share this user and can read each other's files" }]
  const { warning } = await decideIsolation(home.folder, [process.execPath, fileURLToPath(import.meta.url)])
  if (warning) return [{ ok: true, words: warning }]
  const { port, agentsPort } = { ...defaultPlace, ...(await readEntry(home.owner))?.place }
  const openPorts = await openPortsWarning([port, agentsPort])
  const apart = { ok: true, words: "started as root: each deployment runs under a user of its own" }
  return [apart, ...(openPorts ? [{ ok: true, words: openPorts }] : [])]
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
