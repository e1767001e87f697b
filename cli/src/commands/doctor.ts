import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { gigabytes, whyDiskFull } from "@superstep/control/metrics/problems"
import { kinds, settingsOfNote } from "@superstep/machines/kinds/kinds"
import { machineSettings } from "@superstep/machines/kinds/settings"
import { decideIsolation } from "@superstep/machines/parts/isolation/isolation"
import { openPortsWarning } from "@superstep/machines/parts/isolation/open-ports"
import { readMachineNote } from "@superstep/machines/port/machine-note"
import { readSettings } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { CliCommand } from "../command-line/command.js"
import type { Config } from "../command-line/config.js"
import { olderNode } from "../command-line/older-node.js"
import { homeOption } from "../command-line/options.js"
import { agentsOf } from "../home/agents.js"
import { readCredentials } from "../home/credentials.js"
import { startHomeDatabase } from "../home/database.js"
import { type Home, openHome } from "../home/home.js"
import { locateHome } from "../home/installation.js"
import { isOwned, takeOwnership } from "../home/owner.js"
import { readEntry } from "../home/owner-file.js"
import { deploymentsOnReplacedPrograms } from "../platform/replaced-programs.js"
import { defaultPlace } from "../processes/default-place.js"
import { assertPortFree } from "../processes/ports.js"
import { newerNodeOfBuilds } from "../project/agent-node.js"

interface Finding {
  /** `warning`: it works, and the operator should know. */
  readonly level: "good" | "warning" | "missing"
  readonly words: string
}

/** A requirement of an installation is missing; the findings say which. */
export class NotReady extends KnownError {
  readonly code = "not_ready"
}

export const doctor: CliCommand<{ readonly home?: string }> = {
  words: "doctor",
  summary: "check that this machine has everything that Superstep needs",
  options: [homeOption()],
  async run({ options, config, out }) {
    const { home: place } = await locateHome(options.home, config)
    // Before the first start it looks in a folder beside that, so that it leaves nothing behind.
    await using scratch = existsSync(place.folder) ? undefined : await scratchHome(place)
    const home = scratch?.home ?? (await openHome(place.folder))
    const findings = [
      await nodeFinding(home, config),
      await gitFinding(),
      { level: "good", words: `data folder ${place.folder}` } as const,
      ...(await installationFindings(home, config)),
      ...(await userFindings(home)),
      ...(await machineFindings(home, config)),
    ]
    const marks = { good: out.style("green", "✔"), warning: out.style("yellow", "!"), missing: out.style("red", "✖") }
    for (const { level, words } of findings) out.line(`${marks[level]} ${words}`)
    const missing = findings.filter(({ level }) => level === "missing").length
    if (missing > 0) throw new NotReady(`${missing} of ${findings.length} checks failed`)
  },
}

/** A folder on the same disk, which goes again. */
async function scratchHome({ folder }: Home): Promise<AsyncDisposable & { readonly home: Home }> {
  const home = await openHome(`${folder}-${randomUUID()}`)
  return { home, [Symbol.asyncDispose]: () => removeTree(home.folder) }
}

async function nodeFinding(home: Home, { environment }: Config): Promise<Finding> {
  const words = olderNode(process.versions.node, await newerNodeOfBuilds({ home, environment }))
  return words === undefined ? { level: "good", words: `Node ${process.versions.node}` } : { level: "warning", words }
}

async function gitFinding(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)("git", ["--version"])
    return { level: "good", words: stdout.trim() }
  } catch {
    // Every failure has the same meaning for the reader.
    return { level: "missing", words: "git is not installed: deployments from repositories require it" }
  }
}

/** A running installation uses its ports and its Postgres already. */
async function installationFindings(home: Home, config: Config): Promise<Finding[]> {
  const space = await spaceFinding(home)
  if (await isOwned(home)) {
    const runs: Finding = { level: "good", words: "Superstep is running on it" }
    return [space, runs, await apiFinding(home), ...(await programsFinding(home, config))]
  }
  const { port, agentsPort } = { ...defaultPlace, ...(await readEntry(home.owner))?.place }
  // No further checks: Postgres outlived the program too, and a check that started it would stop it at the end.
  if (await agentsOf(home, config.environment).anyRuns()) return [space, unattended(port, agentsPort)]
  const ports = await Promise.all([portFinding(port, "--port"), portFinding(agentsPort, "--agents-port")])
  return [space, ...ports, await databaseFinding(home, config)]
}

/** After a kill of `superstep up`. */
const unattended = (port: number, agentsPort: number): Finding => ({
  level: "missing",
  words: `agents are running, but no superstep up supervises them: start superstep up --port ${port} --agents-port ${agentsPort}`,
})

async function spaceFinding({ folder }: Home): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder)
  const tooLittle = whyDiskFull(bavail * bsize)
  return tooLittle === undefined
    ? { level: "good", words: `${gigabytes(bavail * bsize)} GB free on its disk` }
    : { level: "missing", words: tooLittle }
}

/** An upgrade was installed, and has not taken over yet. */
async function programsFinding(home: Home, { environment }: Config): Promise<Finding[]> {
  const { length } = await deploymentsOnReplacedPrograms(home, environment)
  if (length === 0) return []
  const toDo = "redeploy them by superstep up --take-over, or by a restart of the service"
  return [{ level: "missing", words: `${length} agents use program files that were replaced or removed: ${toDo}` }]
}

const patienceMs = 5000

/** A control plane that does not answer although its program runs is restarting, or hangs. */
async function apiFinding(home: Home): Promise<Finding> {
  const credentials = await readCredentials(home)
  if (!credentials)
    return { level: "missing", words: "it has not finished its first start: there are no credentials yet" }
  const { url } = credentials
  try {
    const { status } = await fetch(`${url}/health`, { signal: AbortSignal.timeout(patienceMs) })
    if (status === 200) return { level: "good", words: `the control plane answers at ${url}` }
    return { level: "missing", words: `the control plane at ${url} answers ${status}: see ${home.logs}` }
  } catch (error) {
    return {
      level: "missing",
      words: `the control plane does not answer at ${url} (${messageOf(error)}): see ${home.logs}`,
    }
  }
}

async function portFinding(port: number, option: string): Promise<Finding> {
  try {
    await assertPortFree({ host: "127.0.0.1", port, option })
    return { level: "good", words: `port ${port} is free` }
  } catch (error) {
    return { level: "missing", words: messageOf(error) }
  }
}

async function databaseFinding(home: Home, config: Config): Promise<Finding> {
  try {
    await using _ownership = await takeOwnership(home, "superstep doctor")
    const database = await startHomeDatabase({ home, config, name: "superstep", stopWithParent: true })
    if (database.isOurs) await database.stop()
    return { level: "good", words: `${database.words} starts` }
  } catch (error) {
    return { level: "missing", words: messageOf(error) }
  }
}

/** Only for an engine that is in use: most installations have none. */
async function machineFindings(home: Home, { environment }: Config): Promise<Finding[]> {
  // What the last start was given as an option is not in our environment.
  const last = await readMachineNote(home.folder)
  const settings = readSettings(machineSettings, { ...settingsOfNote(last), ...environment })
  const { describe } = kinds[settings.machine]
  if (!describe) return []
  try {
    const words = await describe(settings, environment)
    return [{ level: "good", words }]
  } catch (error) {
    return [{ level: "missing", words: messageOf(error) }]
  }
}

/** The isolation of deployments depends on the user who starts us, and on the place (architecture D12). */
async function userFindings(home: Home): Promise<Finding[]> {
  if (process.getuid?.() !== 0)
    return [{ level: "warning", words: "not root: deployments share this user and can read each other's files" }]
  const { warning } = await decideIsolation(home.folder, [process.execPath, fileURLToPath(import.meta.url)])
  if (warning) return [{ level: "warning", words: warning }]
  const { port, agentsPort } = { ...defaultPlace, ...(await readEntry(home.owner))?.place }
  const openPorts = await openPortsWarning([port, agentsPort])
  const apart: Finding = {
    level: "good",
    words: "started as root: the control plane and each deployment run under users of their own",
  }
  return openPorts ? [apart, { level: "warning", words: openPorts }] : [apart]
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
