/**
 * The edge as a process of its own: started once, found again after a restart, started again when it has died or hangs,
 * and replaced without a cut when it is of another release or has other settings (edge/succession.ts, S1–S3).
 */
import { createHash } from "node:crypto"
import { readFile, rename, rm, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { type OsUser, spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { bindTcpSocket } from "@superstep/toolkit/http/bound-socket"
import { AddressInUse } from "@superstep/toolkit/http/listen"
import type { TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { Log, LogLevel } from "@superstep/toolkit/log/log"
import { type EdgeAdmin, edgeProcess, edgeStatus, pushTable, startSuccessor } from "../edge/client.js"
import type { Successor } from "../edge/succession.js"
import { readJson, writeJson } from "../files/json-file.js"
import { readLines } from "../files/read-lines.js"
import { writeWhole } from "../files/whole-file.js"
import type { Edge } from "./context.js"
import { certificateCopy } from "./edge-certificate.js"
import { edgeFiles } from "./edge-folders.js"
import type { Folders } from "./folders.js"
import { openTogether, retiredEdges } from "./retired-edges.js"

export interface EdgeOptions {
  readonly folders: Folders
  /** `edgeToken` of the folders. */
  readonly token: Secret
  /** Whom it runs as; as we do when undefined. */
  readonly user: OsUser | undefined
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  readonly trustedProxies: string
  /** It answers HTTPS with these. */
  readonly tls?: TlsFiles | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  /** Where a test ends this process. */
  readonly crashPoint?: (name: string) => void
  /** How long an edge that was replaced may go on with what is open. */
  readonly drainMs: number
  /** How long one that runs may answer nothing before it is ended and started again. */
  readonly hangMs: number
}

export interface EdgeProcess extends Edge {
  /** Whether the edge of a former control plane still runs. */
  isAlive(): Promise<boolean>
  /** Ends it: open requests have a short grace. */
  stop(): Promise<void>
}

// An edge listens after a tenth of a second; a busy machine takes longer.
const startMs = 15_000
const pollMs = 20
// A little more than the grace that the edge itself gives to what is open.
const stopMs = 12_000

/** The edge that belongs to a data folder. */
export function edgeOnThisMachine(options: EdgeOptions): EdgeProcess {
  const { folders, host, port, token, user, tls, log } = options
  const files = edgeFiles(folders)
  const { adminSocket, identityFile } = files
  const admin = { socketPath: adminSocket, token }
  // One that listens elsewhere, or runs as somebody else, cannot start what we want.
  const place = `${user?.uid ?? process.getuid?.() ?? ""}@${host}:${port}`
  const copyCertificate = certificateCopy({ tls, copy: files.tlsFile, reader: user, log })
  const retired = retiredEdges(options)
  // One thing at a time: nobody pushes to an edge that is being replaced, and nobody starts a second one.
  const inTurn = oneAfterTheOther()
  // Since when nothing that was asked was answered, on the clock that only rises.
  let silentSince: number | undefined

  const find = async (): Promise<EdgeIdentity | undefined> => {
    const identity = await readJson<EdgeIdentity>(identityFile)
    return identity && (await isAlive(identity)) ? identity : undefined
  }

  const ensure = async (): Promise<void> => {
    await retired.lookAfter()
    await copyCertificate()
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
    // One that a killed process of ours began may be another one than we would begin: then the next look replaces it.
    const begunAs = await untilAnswering(identity, { ...files, admin })
    // Written before its predecessor retires: whoever is killed in between tells that one again.
    if (running && successor) {
      options.crashPoint?.("edge:after-successor")
      await retired.add(running)
      options.crashPoint?.("edge:after-retired")
    }
    await writeJson(identityFile, { ...identity, ...begunAs } satisfies EdgeIdentity)
    if (successor) await retired.lookAfter()
    else await retired.forgetLost()
    log.info({ pid: identity.pid, host, port, replaced: running?.pid }, "edge runs")
  }

  /** One whose identity was never written down, because we were killed right then, still answers. */
  const adopt = async (): Promise<ProcessIdentity | undefined> => {
    const status = await edgeStatus(admin).catch(undefinedIfUnavailable)
    return status && identifyEdge(status.pid, user)
  }

  /**
   * The successor answers on the admin socket, so the former's is moved away first.
   * @returns undefined when the former could not start one and was ended
   */
  const succeed = async (former: EdgeIdentity, command: EdgeCommand): Promise<ProcessIdentity | undefined> => {
    const begun = await edgeStatus(admin).catch(undefinedIfUnavailable)
    if (begun && begun.pid !== former.pid) return identifyEdge(begun.pid, user)
    const formerSocket = retired.socketOf(former)
    await rename(adminSocket, formerSocket).catch(ifCode(["ENOENT"]))
    options.crashPoint?.("edge:after-rename")
    const { argv, env } = command
    await writeWhole(files.successorFile, JSON.stringify({ argv, env, cwd: folders.edge } satisfies Successor), user)
    const pid = await startSuccessor(retired.adminOf(former)).catch((err: unknown) =>
      log.warn({ err, pid: former.pid }, "the edge cannot start its successor: it is ended first"),
    )
    if (pid !== undefined)
      return (await identifyEdge(pid, user)) ?? Promise.reject(new Unavailable("the new edge ended at once"))
    await stopProcess(former, { graceMs: stopMs })
    await rm(formerSocket, { force: true })
    return undefined
  }

  const stop = async (): Promise<void> => {
    const identity = await find()
    await Promise.all([identity && stopProcess(identity, { graceMs: stopMs }), retired.stop(stopMs)])
    await rm(identityFile, { force: true })
  }
  /** Every look at units asks for it, so a silence is noticed without asking for its sake. */
  const ownStatus = async () => {
    const begun = performance.now()
    const told = await edgeStatus(admin).catch((error: unknown) => {
      silentSince ??= begun
      throw error
    })
    silentSince = undefined
    return told
  }
  const push: Edge["push"] = async (table) => {
    const taken = await pushTable(admin, table)
    await retired.push(table)
    return taken
  }
  const status = async () => openTogether(await ownStatus(), await retired.statuses())
  return {
    url: urlOf(options),
    push: (table) => inTurn(() => push(table)),
    status: () => inTurn(status),
    ensure: () => inTurn(ensure),
    isAlive: async () => (await find()) !== undefined,
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
    // The next in line does not care how this one ended; its own caller is told.
    last = done.catch(() => undefined)
    return done
  }
}

interface BegunAs {
  /** Whom it runs as and where it was told to listen, `uid@host:port`. */
  readonly place: string
  /** Of the release and all settings it was started with. */
  readonly command: string
}

interface EdgeIdentity extends ProcessIdentity, BegunAs {}

type EdgeFiles = ReturnType<typeof edgeFiles>

type EdgeCommand = ReturnType<typeof edgeProcess> & { readonly hash: string }

const packageFile = new URL("../../package.json", import.meta.url)

// What runs is what was there when we started, whatever is put in its place later.
const release = readFile(packageFile, "utf8").then((text) => (JSON.parse(text) as { version: string }).version)

async function commandOf(options: EdgeOptions, files: EdgeFiles, place: string): Promise<EdgeCommand> {
  const { token, logLevel, trustedProxies, environment } = options
  const tls = options.tls && { certFile: files.tlsFile, keyFile: files.tlsFile }
  const spec = { ...files, token, tls, logLevel, trustedProxies }
  const path = { PATH: environment.PATH ?? "" }
  const { argv, env } = edgeProcess(spec)
  // A release may be put in the place of the former one, and so may Node.
  const content = JSON.stringify([await release, process.version, argv, { ...path, ...env }])
  const hash = createHash("sha256").update(content).digest("hex")
  const command = nameOf({ place, command: hash })
  return { argv, env: { ...path, ...edgeProcess({ ...spec, command }).env }, hash }
}

// An edge is told both, and says them again: who finds one that nobody wrote down need not guess.
const nameOf = ({ place, command }: BegunAs): string => `${command} ${place}`

function begunAsNamed(name: string): BegunAs {
  const [command = "", place = ""] = name.split(" ")
  return { place, command }
}

/** @throws AddressInUse  another process listens where it is to */
async function start(
  { folders, host, port, user }: EdgeOptions,
  { outputFile }: EdgeFiles,
  { argv, env }: EdgeCommand,
): Promise<ProcessIdentity> {
  using socket = await bindTcpSocket({ host, port }).catch((error: unknown) => {
    throw error instanceof AddressInUse ? new AddressInUse(error.message.replace("--port", "--agents-port")) : error
  })
  // One former log is kept; what is in the new one is this process's.
  await rename(outputFile, `${outputFile}.1`).catch(ifCode(["ENOENT"]))
  return await spawnDetached({ argv, cwd: folders.edge, env, user, outputFile, extraDescriptors: [socket.descriptor] })
}

/** An edge names itself and its successor, and we may be root and end what it names: it must be of the edge's user. */
async function identifyEdge(pid: number, user: OsUser | undefined): Promise<ProcessIdentity | undefined> {
  const found = user && (await stat(`/proc/${pid}`).catch(ifCode(missing)))
  return user && found?.uid !== user.uid ? undefined : identify(pid)
}

/** @returns what it says that it was begun as */
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
