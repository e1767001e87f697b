/**
 * Starts the control plane with a machine: in one process, or, where root isolates deployments, in two. Then this process keeps the rights
 * and serves the machine, and the control plane, which reads what strangers send, runs without rights (docs/decisions/0037).
 * SIGTERM and SIGINT stop it in order; a second signal ends it at once. SIGUSR2 stops it for a successor: everything it runs goes
 * on, even with SUPERSTEP_STOP_ALL_ON_EXIT=1.
 */
import { existsSync } from "node:fs"
import { isShared, type MachineOptions, type OpenedMachine, openMachine } from "@superstep/machines/kinds/open-machine"
import type { Installation } from "@superstep/machines/remote/calls"
import {
  apiDescriptor,
  type End,
  isControlProcess,
  machineOfParent,
  runControlProcess,
} from "@superstep/machines/remote/control-process"
import { explain } from "@superstep/toolkit/errors/explain"
import { readTlsFiles, tlsFilesOf } from "@superstep/toolkit/http/tls-files"
import { logBrokenRules } from "@superstep/toolkit/log/broken-rules"
import { createLog, type Log } from "@superstep/toolkit/log/log"
import { buildLimitsOf, type Config, processEnvironment, readConfig, settings } from "./config.js"
import { type ControlPlaneOptions, startControlPlane } from "./control-plane.js"
import { foldersOf } from "./home/folders.js"
import { openHome } from "./home/home.js"
import { StoppedStandingBy } from "./home/home-in-charge.js"
import { keyFilesIn } from "./home/key-files.js"
import { crashPoints } from "./planner/crash-points.js"
import { startLogRotation } from "./rotate-logs.js"

type Programs = MachineOptions["programs"]

type OnSignal = Installation["onSignal"]

/** Runs until it is stopped. @param programs  what it starts without importing it */
export async function start(programs: Programs): Promise<void> {
  try {
    const config = readConfig()
    const log = createLog({ process: "control", level: config.logLevel })
    logBrokenRules(log)
    if (isControlProcess(process.argv)) await runWithoutRights(config, log)
    else if (isShared(config)) await runInSharedPlace(config, log, programs)
    else await runWithMachine(config, log, programs)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    process.exit(1)
  }
}

async function runWithMachine(config: Config, log: Log, programs: Programs): Promise<void> {
  process.title = "superstep control plane"
  // Before anything else runs: a signal during the start must not leave behind what was just started.
  const onSignal = followSignals()
  const homeId = await openHome(foldersOf(config.home))
  const machine = await machineFor({ config, log, programs, homeId })
  const rotation = startLogRotation(config.home, machine.logFiles, log)
  const end = await runControlPlane({ config, log, homeId, machine, onSignal })
  await rotation.stop()
  if (end.code === 0) await machine.close()
  endAs(end)
}

/** The data folder has nothing that a control plane on another computer would need. */
async function runInSharedPlace(config: Config, log: Log, programs: Programs): Promise<void> {
  process.title = "superstep control plane"
  const onSignal = followSignals()
  await openHome(foldersOf(config.home))
  const closing: (() => Promise<void>)[] = []
  const openHost = async (homeId: string) => {
    const machine = await machineFor({ config, log, programs, homeId })
    const rotation = startLogRotation(config.home, machine.logFiles, log)
    closing.push(rotation.stop, machine.close)
    return machine
  }
  const { host, port } = config
  await untilStopped({ config, log, place: { openHost }, address: { host, port } }, onSignal)
  for (const close of closing) await close()
  process.exit(0)
}

/** @returns  how it has ended; an orderly end has the code 0 */
async function runControlPlane(input: {
  readonly config: Config
  readonly log: Log
  readonly homeId: string
  readonly machine: OpenedMachine
  readonly onSignal: OnSignal
}): Promise<End> {
  const { config, log, homeId, machine, onSignal } = input
  const { host, port, home } = config
  const { controlUser: user } = machine
  if (!user) {
    await untilStopped({ config, log, place: { homeId, host: machine }, address: { host, port } }, onSignal)
    return { code: 0, signal: null }
  }
  process.title = "superstep machine"
  const environment = { ...processEnvironment(), ...(await readableCertificate(config, machine)) }
  const script = process.argv[1] ?? ""
  return runControlProcess({ machine, user, onSignal, script, home, environment, address: { host, port }, log })
}

/** The same certificate, as settings of a process that cannot read the operator's files. */
async function readableCertificate(config: Config, machine: OpenedMachine): Promise<Record<string, string>> {
  const files = tlsFilesOf(config.tlsCert, config.tlsKey)
  if (!files) return {}
  readTlsFiles(files)
  await machine.edge.copyCertificate()
  const { certificateCopy } = machine
  return { [settings.tlsCert.env]: certificateCopy, [settings.tlsKey.env]: certificateCopy }
}

async function runWithoutRights(config: Config, log: Log): Promise<void> {
  process.title = "superstep control plane"
  // A service manager signals all processes of the service; the machine process tells what it got.
  followSignals()
  const host = await machineOfParent(log)
  const { homeId, onSignal } = host
  await untilStopped({ config, log, place: { homeId, host }, address: { descriptor: apiDescriptor } }, onSignal)
  process.exit(0)
}

/** Starts the control plane, and stops it at a signal. */
async function untilStopped(
  input: Omit<ControlPlaneOptions, "environment" | "crashPoint" | "giveUp" | "onLost">,
  onSignal: OnSignal,
): Promise<void> {
  const { config, log } = input
  const crashPoint = crashPoints(config.crashAt)
  const givingUp = new AbortController()
  await new Promise<void>((resolve, reject) => {
    const starting = startControlPlane({
      ...input,
      environment: processEnvironment(),
      crashPoint,
      giveUp: givingUp.signal,
      onLost: reject,
    })
    starting.catch((error: unknown) => (error instanceof StoppedStandingBy ? resolve() : reject(error)))
    let isStopping = false
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping) process.exit(1)
      isStopping = true
      log.info({ signal }, "control plane is stopping")
      const all = config.stopAllOnExit && signal !== "SIGUSR2"
      givingUp.abort()
      starting
        .then((controlPlane) => controlPlane.stop({ all }))
        .then(resolve, (error: unknown) => (error instanceof StoppedStandingBy ? resolve() : reject(error)))
    }
    onSignal(stop).catch(reject)
  })
}

const stopSignals = ["SIGTERM", "SIGINT", "SIGUSR2"] as const

/** Takes the stop signals of this process from now on. */
function followSignals(): OnSignal {
  const earlier: NodeJS.Signals[] = []
  let tell = (signal: NodeJS.Signals): void => void earlier.push(signal)
  for (const name of stopSignals) process.on(name, (signal) => tell(signal))
  return async (onSignal) => {
    tell = onSignal
    for (const signal of earlier.splice(0)) onSignal(signal)
    return () => {
      tell = (signal) => void earlier.push(signal)
    }
  }
}

/** Ends this process in the same way. */
function endAs({ code, signal }: End): void {
  if (!signal) process.exit(code ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

const machineFor = ({
  config,
  log,
  programs,
  homeId,
}: {
  readonly config: Config
  readonly log: Log
  readonly programs: Programs
  readonly homeId: string
}): Promise<OpenedMachine> => {
  const { control, formerUploads } = foldersOf(config.home)
  return openMachine(config, {
    home: config.home,
    homeId,
    programs,
    edge: { ...config, port: config.agentsPort, tls: tlsFilesOf(config.tlsCert, config.tlsKey) },
    apiPort: config.port,
    controlFolders: [control, ...(existsSync(formerUploads) ? [formerUploads] : [])],
    keyFiles: keyFilesIn(config.home, config.masterKeyFile),
    buildLimits: buildLimitsOf(config),
    nodeDirs: config.nodeDirs,
    fetchesNode: config.fetchesNode,
    requiresIsolation: config.isolation === "required",
    environment: processEnvironment(),
    log,
    crashPoint: crashPoints(config.crashAt),
  })
}
