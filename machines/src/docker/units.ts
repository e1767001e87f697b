/**
 * Units as containers. The engine keeps them, also while we do not run; a unit's folder has its files, its output, and who it runs as. A
 * container belongs to one life of a unit: each start makes a new one.
 */
import { lchown, mkdir, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { readProjectConfig } from "@superstep/builder/project/project-facts"
import { makeSchemasFolder } from "@superstep/builder/publish"
import { unixAddress } from "@superstep/protocol/http/address"
import { keptSchemasFile } from "@superstep/protocol/worker/kept-schemas"
import { writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { type MachineFolders, unitSocket } from "../parts/files/folders.js"
import { edgeUserOf, type Isolation } from "../parts/isolation/isolation.js"
import { removeFormerCopies } from "../parts/output/unread-output.js"
import { unitEnvironment, unitSecrets } from "../parts/units/unit-environment.js"
import type { UnitSpec, UnitStatus, Units } from "../port/port.js"
import type { ArtifactImages } from "./artifact-images.js"
import { containerName, containerOf, databaseOf, inside, withCertificates } from "./container.js"
import type { Containers, FoundContainer } from "./containers.js"
import type { Engine } from "./engine.js"
import type { GuestImages } from "./guest-images.js"
import { startGuest } from "./guest-units.js"
import { printed, unitOutput } from "./unit-output.js"
import { socketOf, type UnitSocket } from "./unit-socket.js"

export interface DockerUnitsOptions {
  readonly folders: Pick<MachineFolders, "units" | "unitSockets" | "artifacts">
  readonly isolation: Pick<Isolation, "user">
  readonly engine: Engine
  readonly containers: Containers
  readonly images: ArtifactImages
  readonly guests: Pick<GuestImages, "ensure">
  readonly homeId: string
  readonly network: string
  readonly environment: NodeJS.ProcessEnv
  /** Whether a look at a running unit publishes its socket. That gives rights to the edge's group, which `isolation` knows only after a start. */
  readonly publishes: boolean
}

/** The engine has a container of a unit's name that is not ours. */
export class ForeignContainer extends KnownError {
  readonly code = "foreign_container"
  constructor(name: string) {
    super(`the engine has a container ${name} of somebody else: remove or rename it`)
  }
}

/** Our program beside an image of somebody else does not run, and so nothing reaches the image. */
export class CompanionFailed extends KnownError {
  readonly code = "companion_failed"
  constructor(output: string) {
    super(`the companion of the image has exited, though it should not; its last output: ${output}`)
  }
}

const megabyte = 1024 * 1024
const pollMs = 20
// A server listens within a second; on a busy machine it takes longer.
const listenMs = 60_000
// Programs of an image are not where ours are.
const pathInside = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

export function dockerUnits(options: DockerUnitsOptions): Units {
  const { folders, containers, images, guests, isolation, network } = options
  const folderOf = (unitId: string) => join(folders.units, unitId)
  const ownerFile = (unitId: string) => join(folderOf(unitId), "owner.json")
  const output = unitOutput(options, folderOf)
  const group = edgeUserOf(isolation)?.gid
  const socketFor = (unitId: string, owner: OsUser) => socketOf(folders, unitId, { owner, group })

  const storedSocket = async (unitId: string): Promise<UnitSocket> =>
    socketFor(unitId, (await readJson<OsUser>(ownerFile(unitId))) ?? ownUser())

  const status = async (unitId: string): Promise<UnitStatus> => {
    const found = await containers.find(unitId)
    if (!found || found.state === "created") return { state: "absent" }
    // While it is started, its companion is still to come.
    if (found.state === "running" && (starts.has(unitId) || (await runsWhole(found)))) {
      // A control plane that was killed right after the start has not done it.
      if (options.publishes) await (await storedSocket(unitId)).publish()
      return { state: "running" }
    }
    const seen = await containers.inspect(found.id)
    if (!seen) return { state: "absent" }
    // Its companion has ended: nothing can reach it.
    if (seen.State.Running) return { state: "exited" }
    return seen.State.OOMKilled
      ? { state: "exited", ranOutOfMb: Math.round(seen.HostConfig.Memory / megabyte) }
      : { state: "exited" }
  }

  /** A guest without its companion is no unit. */
  const runsWhole = async ({ unitId, state, isGuest }: FoundContainer): Promise<boolean> =>
    state === "running" && (!isGuest || (await containers.companionOf(unitId))?.state === "running")

  const starts = new Map<string, Promise<void>>()
  /** A start that comes while another one of the same unit is under way waits for that. */
  const start = (spec: UnitSpec): Promise<void> => {
    const started = starts.get(spec.unitId) ?? startNow(spec).finally(() => starts.delete(spec.unitId))
    starts.set(spec.unitId, started)
    return started
  }
  const startNow = async (spec: UnitSpec): Promise<void> => {
    const { unitId } = spec
    const former = await containers.find(unitId)
    if (former && (await runsWhole(former))) return
    const guest = await guests.ensure(spec.artifactId)
    const image = guest ?? (await images.ensure(spec.artifactId))
    if (former) await removeContainer(former)
    const user = isolation.user(spec.deploymentNumber) ?? ownUser()
    const folder = await makeFolders(spec, user)
    const socket = socketFor(unitId, user)
    await socket.prepare()
    const started =
      guest === undefined
        ? await startProject(spec, { image, user, folder, socket })
        : await startGuest({ ...options, spec, image, user, unitFolder: folder, socket, path: pathInside, run })
    if (started === undefined || (await untilListening(started, socket)) || guest === undefined) return
    if (await runsAlone(unitId)) throw new CompanionFailed(await lastOutput(started))
  }

  /** A guest whose companion has exited. */
  const runsAlone = async (unitId: string): Promise<boolean> => {
    const found = await containers.find(unitId)
    return found?.state === "running" && !(await runsWhole(found))
  }
  const lastOutput = async (id: string): Promise<string> => {
    const query = { stdout: "1", stderr: "1", timestamps: "1", tail: "5" }
    return printed(await options.engine.stream(`/containers/${id}/logs`, { query }))
  }

  /** @returns  its container */
  const startProject = async (
    spec: UnitSpec,
    { image, user, folder, socket }: { image: string; user: OsUser; folder: string; socket: UnitSocket },
  ): Promise<string> => {
    const database = databaseOf(spec.databaseUri, network)
    const artifactFolder = join(folders.artifacts, spec.artifactId)
    const { env: configEnv } = await readProjectConfig(artifactFolder, spec.configPath)
    const place = {
      folder: inside.unit,
      settingsFile: join(inside.unit, "tmp", "settings.json"),
      artifactFolder: inside.app,
      configEnv,
    }
    const { environment, certificates } = withCertificates(options.environment)
    const base = { ...environment, PATH: pathInside }
    const secrets = unitSecrets({ ...spec, databaseUri: database.uri }, place, base)
    await writeSettingsFile(join(folder, "tmp", "settings.json"), secrets, isRoot() ? user : undefined)
    const body = containerOf(spec, {
      homeId: options.homeId,
      image,
      network,
      user,
      environment: { ...unitEnvironment(spec, place, base), SUPERSTEP_LISTEN: `unix:${inside.socket}` },
      unitFolder: folder,
      socketFolder: socket.folder,
      schemas: await schemasOf(artifactFolder, spec),
      databaseFolder: database.folder,
      certificates,
    })
    return run(containerName(spec.unitId), body)
  }

  const run = async (name: string, body: unknown): Promise<string> => {
    const id = await containers.create(name, body)
    if (id === undefined) throw new ForeignContainer(name)
    await containers.start(id)
    return id
  }

  /** Or until it has exited, which its status shows. @returns  whether it listens */
  const untilListening = async (id: string, socket: UnitSocket): Promise<boolean> => {
    const deadline = performance.now() + listenMs
    for (let round = 1; performance.now() < deadline; round++) {
      if (await socket.publish()) return true
      if (round % 25 === 0 && (await containers.inspect(id))?.State.Running !== true) return false
      await sleep(pollMs)
    }
    return false
  }

  /** Schemas are added to an artifact after its image was made (port.ts, R7): a container sees their folder. */
  const schemasOf = async (artifactFolder: string, { configPath, deploymentNumber }: UnitSpec) => {
    const reader = isolation.user(deploymentNumber) ?? null
    const from = await makeSchemasFolder({ artifactFolder, configPath, reader })
    return { from, to: dirname(keptSchemasFile(join(inside.app, dirname(configPath)))) }
  }

  const makeFolders = async ({ unitId }: UnitSpec, user: OsUser): Promise<string> => {
    const folder = folderOf(unitId)
    await mkdir(folder, { recursive: true, mode: 0o755 })
    await removeFormerCopies(folder)
    await writeJson(ownerFile(unitId), user)
    for (const path of [join(folder, "tmp"), join(folder, "data")]) {
      await mkdir(path, { recursive: true, mode: 0o700 })
      if (isRoot()) await lchown(path, user.uid, user.gid)
    }
    return folder
  }

  const removeContainer = async (container: FoundContainer): Promise<void> => {
    await output.keep(container)
    await removeBoth(container.unitId, container.id)
  }
  const removeBoth = async (unitId: string, id: string | undefined): Promise<void> => {
    const companion = await containers.companionOf(unitId)
    if (companion) await containers.remove(companion.id)
    if (id !== undefined) await containers.remove(id)
  }

  const stop: Units["stop"] = async (unitId, { graceMs }) => {
    const found = await containers.find(unitId)
    if (!found) return
    await containers.stop(found.id, graceMs)
    // A requested end is no crash.
    await removeContainer(found)
  }

  const running = async (unitIds: readonly string[]) => {
    const wanted = new Set(unitIds)
    return (await containers.list()).filter(({ unitId, state }) => state === "running" && wanted.has(unitId))
  }
  const measured = async (unitIds: readonly string[], { withLimits }: { readonly withLimits: boolean }) => {
    const found = (await running(unitIds)).filter(({ isLimited }) => withLimits || !isLimited)
    return Promise.all(found.map(async ({ id, unitId }) => ({ id, unitId, use: await containers.measure(id) })))
  }

  return {
    start,
    status,
    address: (unitId) => unixAddress(unitSocket(folders, unitId)),
    logs: output.logs,
    watchLogs: output.watchLogs,
    memoryMb: async (unitIds) => {
      const found = await measured(unitIds, { withLimits: false })
      return new Map(found.flatMap(({ unitId, use }) => (use ? [[unitId, use.memoryBytes / megabyte] as const] : [])))
    },
    usage: async (unitIds) => {
      const found = await measured(unitIds, { withLimits: true })
      return new Map(
        found.map(({ id, unitId, use }) => [
          unitId,
          use ? [{ key: id, cpuSeconds: use.cpuSeconds, rssBytes: use.memoryBytes }] : [],
        ]),
      )
    },
    kill: async (unitId) => {
      const found = await containers.find(unitId)
      if (found?.state === "running") await containers.kill(found.id)
    },
    stop,
    remove: async (unitId) => {
      await removeBoth(unitId, (await containers.find(unitId))?.id)
      await (await storedSocket(unitId)).remove()
      await removeTree(folderOf(unitId))
    },
    list: async () => {
      await mkdir(folders.units, { recursive: true })
      const kept = await readdir(folders.units)
      return [...new Set([...kept, ...(await containers.list()).map(({ unitId }) => unitId)])]
    },
  }
}

const isRoot = (): boolean => process.getuid?.() === 0

const ownUser = (): OsUser => ({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 })
