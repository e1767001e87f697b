/**
 * Runs the edge as a process of its own: starts it once, finds it after a restart, starts it again when it died or hangs, and
 * replaces it without interruption when it is of another release or has other settings (edge/succession.ts, S1–S3).
 */
import { createHash } from "node:crypto"
import { access, readFile, rename, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type EdgeAdmin, edgeEntry, edgeProcess, edgeStatus, pushTable, startSuccessor } from "@superstep/edge/client"
import { openTogether } from "@superstep/edge/open-together"
import type { Edge } from "@superstep/edge/port"
import type { Successor } from "@superstep/edge/succession"
import { unixAddress } from "@superstep/protocol/http/address"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { type OsUser, spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { readLines } from "@superstep/toolkit/files/read-lines"
import { writeShared } from "@superstep/toolkit/files/shared-file"
import { bindTcpSocket } from "@superstep/toolkit/http/bound-socket"
import { AddressInUse } from "@superstep/toolkit/http/listen"
import type { TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { Log, LogLevel } from "@superstep/toolkit/log/log"
import { EdgeLag } from "../edges/table-feed.js"
import type { MachineFolders } from "../files/folders.js"
import { withoutNewPrivileges } from "../isolation/no-new-privileges.js"
import { certificateFiles } from "./certificate-files.js"
import { certificateCopy } from "./edge-certificate.js"
import { edgeFiles } from "./edge-folders.js"
import { retiredEdges } from "./retired-edges.js"

export interface EdgeOptions {
  readonly folders: MachineFolders
  /** `edgeToken` of the folders. */
  readonly token: Secret
  /** The user it runs as; our own when undefined. */
  readonly user: OsUser | undefined
  readonly host: string
  readonly port: number
  /** For plain HTTP, while `port` speaks HTTPS. */
  readonly httpPort?: number | undefined
  readonly logLevel: LogLevel
  readonly trustedProxies: string
  /** Certificate and key; with them it speaks HTTPS. */
  readonly tls?: TlsFiles | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  /** Where a test kills this process. */
  readonly crashPoint?: (name: string) => void
  /** How long a replaced edge may go on with what is open. */
  readonly drainMs: number
  /** How long a running edge may answer nothing before it is stopped and started again. */
  readonly hangMs: number
}

export interface EdgeProcess extends Edge {
  /** Updates the copy of the operator's certificate. */
  copyCertificate(): Promise<void>
  /** Stops it: open requests have a short grace period. */
  stop(): Promise<void>
}

// An edge listens within a tenth of a second; on a busy machine it takes longer.
const startMs = 15_000
const pollMs = 20
// A little more than the grace period that the edge itself gives open requests.
const stopMs = 12_000

/** The edge that belongs to a data folder. */
export function edgeOnThisMachine(options: EdgeOptions): EdgeProcess {
  const { folders, host, port, httpPort, token, user, tls, log } = options
  const files = edgeFiles(folders)
  const { adminSocket, identityFile } = files
  const admin = { address: unixAddress(adminSocket), token }
  // An edge with another address or user cannot start the successor that we want.
  const plain = httpPort === undefined ? "" : `+${httpPort}`
  const place = `${user?.uid ?? process.getuid?.() ?? ""}@${host}:${port}${plain}`
  const copyCertificate = certificateCopy({ tls, copy: files.tlsFile, reader: user, log })
  const certificates = certificateFiles({ folder: files.certificatesFolder, reader: user, log })
  const retired = retiredEdges(options)
  const lag = new EdgeLag()
  // One at a time: no table goes to an edge that is being replaced, and no second edge is started.
  const inTurn = oneAfterTheOther()
  // Since when no question was answered, on the monotonic clock.
  let silentSince: number | undefined

  /** Found last: as long as it runs, no file is read. */
  let found: EdgeIdentity | undefined

  const find = async (): Promise<EdgeIdentity | undefined> => {
    const identity = await readJson<EdgeIdentity>(identityFile)
    found = identity && (await isAlive(identity)) ? identity : undefined
    return found
  }

  const ensure = async (): Promise<void> => {
    await retired.retireAll()
    await copyCertificate()
    await certificates.addUnwritten()
    const command = await commandOf(options, files, place)
    const running = await find()
    const isSilent = silentSince !== undefined && performance.now() - silentSince > options.hangMs
    if (running?.place === place && running.command === command.hash && !isSilent) return
    const isEnded = running && (running.place !== place || isSilent)
    if (isEnded) {
      if (isSilent) log.warn({ pid: running.pid }, "edge does not answer: it is ended")
      await stopProcess(running, { graceMs: isSilent ? 0 : stopMs })
    }
    silentSince = undefined
    const successor = running && !isEnded ? await succeed(running, command) : undefined
    const identity = successor ?? (await adopt()) ?? (await start(options, files, command))
    // An edge that a killed control plane started may have other settings than ours: then the next check replaces it.
    const begunAs = await untilAnswering(identity, { ...files, admin }).catch(async (error: unknown) => {
      if (running && successor) await giveBack(running, successor)
      throw error
    })
    // Written before the predecessor retires: if we are killed in between, it is asked to retire again.
    if (running && successor) {
      options.crashPoint?.("edge:after-successor")
      await retired.add(running)
      options.crashPoint?.("edge:after-retired")
    }
    await writeJson(identityFile, { ...identity, ...begunAs } satisfies EdgeIdentity)
    if (successor) await retired.retireAll()
    else await retired.removeLostSockets()
    log.info({ pid: identity.pid, host, port, replaced: running?.pid }, "edge runs")
  }

  /** Finds an edge whose identity was not stored because we were killed just then: it still answers. */
  const adopt = async (): Promise<ProcessIdentity | undefined> => {
    const status = await edgeStatus(admin).catch(undefinedIfUnavailable)
    return status && identifyEdge(status.pid, user)
  }

  /**
   * The successor uses the same admin socket, so the former's is moved away first.
   * @returns  undefined when the former could not start one and was stopped
   */
  const succeed = async (former: EdgeIdentity, command: EdgeCommand): Promise<ProcessIdentity | undefined> => {
    // If we are killed before the successor is stored, the former is no longer kept as it is, whatever its settings.
    await writeJson(identityFile, { ...former, command: "" } satisfies EdgeIdentity)
    const begun = await edgeStatus(admin).catch(undefinedIfUnavailable)
    if (begun && begun.pid !== former.pid) return identifyEdge(begun.pid, user)
    const { argv, env } = command
    await writeShared(files.successorFile, JSON.stringify({ argv, env, cwd: folders.edge } satisfies Successor), user)
    const formerSocket = retired.socketOf(former)
    // It exists after a kill: then `adminSocket` is that of a dead successor, and the former would be lost under it.
    await access(formerSocket).catch(() => rename(adminSocket, formerSocket).catch(ifCode(["ENOENT"])))
    options.crashPoint?.("edge:after-rename")
    const pid = await startSuccessor(retired.adminOf(former)).catch((err: unknown) =>
      log.warn({ err, pid: former.pid }, "the edge cannot start its successor: it is ended first"),
    )
    if (pid !== undefined) {
      const successor = await identifyEdge(pid, user)
      if (successor) return successor
      await giveBack(former)
      throw new Unavailable("the new edge ended at once")
    }
    await stopProcess(former, { graceMs: stopMs })
    await rm(formerSocket, { force: true })
    return undefined
  }

  /** A successor that does not answer is killed, so that the former gets tables again. */
  const giveBack = async (former: EdgeIdentity, successor?: ProcessIdentity): Promise<void> => {
    if (successor) await stopProcess(successor, { graceMs: 0, signal: "SIGKILL" })
    await rename(retired.socketOf(former), adminSocket).catch(ifCode(["ENOENT"]))
  }

  const stop = async (): Promise<void> => {
    // One that answers is another one in the middle of a replacement, and after a kill before its identity was stored.
    const edges = [await find(), await adopt().catch(() => undefined)].filter((it) => it !== undefined)
    await Promise.all([...edges.map((it) => stopProcess(it, { graceMs: stopMs })), retired.stop(stopMs)])
    await rm(identityFile, { force: true })
  }
  /** The status of this edge. Each check of units asks for it, so a silent edge is noticed without extra questions. */
  const ownStatus = async () => {
    const begun = performance.now()
    const told = await edgeStatus(admin).catch((error: unknown) => {
      silentSince ??= begun
      throw error
    })
    silentSince = undefined
    lag.uses(told.generation)
    return told
  }
  const push: Edge["push"] = async (table, pemOf) => {
    await certificates.addMissing(table, pemOf)
    const taken = await pushTable(admin, table)
    lag.uses(taken.generation)
    await retired.push(table)
    await certificates.removeOthers(table)
    return taken
  }
  const status = async () => {
    const own = await ownStatus()
    const { reports, silent } = await retired.statuses()
    const { generation, deployments } = own
    return { generation, deployments, silent, units: openTogether([own, ...reports].map(({ units }) => units)) }
  }
  const url = urlOf(options)
  return {
    url,
    copyCertificate: () => inTurn(copyCertificate),
    push: (table, pemOf) => {
      lag.wants(table.generation)
      return inTurn(() => push(table, pemOf))
    },
    status: () => inTurn(status),
    tables: async () => [lag.report(url, silentSince === undefined), ...retired.tables()],
    ensure: () => inTurn(ensure),
    isAlive: async () => (found !== undefined && (await isAlive(found))) || (await find()) !== undefined,
    stop: () => inTurn(stop),
  }
}

function urlOf({ host, port, tls }: EdgeOptions): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`
}

function oneAfterTheOther() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work)
    // A failure here goes to its own caller and does not stop the next task.
    last = done.catch(() => undefined)
    return done
  }
}

interface BegunAs {
  /** The user it runs as and its address, `uid@host:port`. */
  readonly place: string
  /** Hash of the release and all settings it was started with. */
  readonly command: string
}

interface EdgeIdentity extends ProcessIdentity, BegunAs {}

type EdgeFiles = ReturnType<typeof edgeFiles>

type EdgeCommand = ReturnType<typeof edgeProcess> & { readonly hash: string }

const packageFile = join(dirname(edgeEntry), "../package.json")

// Read at our start: the file on disk may be replaced by another release later.
const release = readFile(packageFile, "utf8").then((text) => (JSON.parse(text) as { version: string }).version)

async function commandOf(options: EdgeOptions, files: EdgeFiles, place: string): Promise<EdgeCommand> {
  const { token, logLevel, trustedProxies, environment, httpPort } = options
  const tls = options.tls && { certFile: files.tlsFile, keyFile: files.tlsFile }
  const addresses = { adminAddress: unixAddress(files.adminSocket), wakeAddress: unixAddress(files.wakeSocket) }
  const spec = { ...files, ...addresses, token, tls, logLevel, trustedProxies, hasPlainSocket: httpPort !== undefined }
  const path = { PATH: environment.PATH ?? "" }
  const { argv, env } = edgeProcess(spec)
  // A new release, or a new Node, may be installed at the same path.
  const content = JSON.stringify([await release, process.version, argv, { ...path, ...env }])
  const hash = createHash("sha256").update(content).digest("hex")
  const command = nameOf({ place, command: hash })
  return { argv, env: { ...path, ...edgeProcess({ ...spec, command }).env }, hash }
}

// An edge gets both at its start and reports them, so that one without a stored identity can be recognized.
const nameOf = ({ place, command }: BegunAs): string => `${command} ${place}`

function begunAsNamed(name: string): BegunAs {
  const [command = "", place = ""] = name.split(" ")
  return { place, command }
}

/** @throws AddressInUse  another process listens on its address */
async function start(
  { folders, host, port, httpPort, user }: EdgeOptions,
  { outputFile }: EdgeFiles,
  { argv, env }: EdgeCommand,
): Promise<ProcessIdentity> {
  using socket = await bindTcpSocket({ host, port }).catch((error: unknown) => {
    throw error instanceof AddressInUse ? new AddressInUse(error.message.replace("--port", "--agents-port")) : error
  })
  using plain = httpPort === undefined ? undefined : await bindPlainSocket(host, httpPort)
  const extraDescriptors = [socket.descriptor, ...(plain ? [plain.descriptor] : [])]
  // One former log is kept; the new one belongs to this process only.
  await rename(outputFile, `${outputFile}.1`).catch(ifCode(["ENOENT"]))
  // Its successors inherit that from it.
  const limited = withoutNewPrivileges(argv, env.PATH ?? "")
  return await spawnDetached({ argv: limited, cwd: folders.edge, env, user, outputFile, extraDescriptors })
}

const bindPlainSocket = (host: string, port: number) =>
  bindTcpSocket({ host, port }).catch((error: unknown) => {
    throw error instanceof AddressInUse
      ? new AddressInUse(error.message.replace("--port", "SUPERSTEP_HTTP_PORT"))
      : error
  })

/**
 * Checks the user of the process: an edge reports its own pid and its successor's, and we may be root and kill what it reports.
 */
async function identifyEdge(pid: number, user: OsUser | undefined): Promise<ProcessIdentity | undefined> {
  const found = user && (await stat(`/proc/${pid}`).catch(ifCode(missing)))
  return user && found?.uid !== user.uid ? undefined : identify(pid)
}

/** @returns  the settings and place that it reports */
async function untilAnswering(
  identity: ProcessIdentity,
  { admin, outputFile }: Pick<EdgeFiles, "outputFile"> & { readonly admin: EdgeAdmin },
): Promise<BegunAs> {
  const deadline = performance.now() + startMs
  for (;;) {
    const status = await edgeStatus(admin).catch(undefinedIfUnavailable)
    if (status) return begunAsNamed(status.command)
    if (!(await isAlive(identity)) || performance.now() > deadline) {
      const { lines } = await readLines(outputFile, 0)
      throw new Unavailable(`the edge does not start: ${lines.slice(-3).join(" ")}`)
    }
    await sleep(pollMs)
  }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}
