/**
 * Builds as processes of this machine. A build is a folder below `work`, named by its revision: the tree, the home of its commands,
 * and the files by which it and the control plane communicate (protocol/build).
 */
import { chmod, chown, mkdir, readdir, rm } from "node:fs/promises"
import { basename, delimiter, join } from "node:path"
import { parseBuildLine } from "@superstep/builder/build-log"
import { buildState, startBuild, stopBuild } from "@superstep/builder/build-process"
import { type BuildRequest, type BuildResult, buildFiles, parseRequest } from "@superstep/builder/build-request"
import { buildEnvironment } from "@superstep/builder/environment"
import type { InstalledNodes } from "@superstep/builder/installed-nodes"
import { type Plan, planSource } from "@superstep/builder/plan-source"
import type { InstalledPythons } from "@superstep/builder/python/pythons"
import { toolsOnPath } from "@superstep/builder/tools"
import type { BuildLimits } from "@superstep/protocol/build/request"
import { revealAll } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { diskIsFull, hasRoom } from "@superstep/toolkit/files/disk-room"
import { watchFolder } from "@superstep/toolkit/files/growing-file"
import { readJson } from "@superstep/toolkit/files/json-file"
import { readLines } from "@superstep/toolkit/files/read-lines"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { BuildSource, BuildState, Builds } from "../../port/port.js"
import { type MachineFolders, workFolder } from "../files/folders.js"
import { builderBeside, type Isolation } from "../isolation/isolation.js"
import { sourceTrees } from "./source-trees.js"

export interface BuildsOptions {
  readonly folders: Pick<MachineFolders, "work" | "cache" | "artifacts">
  readonly limits: BuildLimits
  readonly isolation: Pick<Isolation, "user">
  readonly nodes: InstalledNodes
  readonly pythons: InstalledPythons
  /** The program that checks whether a project's graphs load. */
  readonly verifyEntry: string
  /** The same for graphs in Python. */
  readonly verifyPython: string
  /** Builds get a few of its variables. */
  readonly environment: NodeJS.ProcessEnv
  /** Where every project is when it runs; where it is published when undefined. */
  readonly runsAt?: string | undefined
}

export function localBuilds(options: BuildsOptions): Builds {
  const { folders, isolation } = options
  const placeOf = (revisionId: string) => workFolder(folders, revisionId)

  const trees = sourceTrees(folders, isolation)

  const planOf = async (source: BuildSource): Promise<Plan> => {
    const user = isolation.user(source.deploymentNumber)
    const toolsBeside = (nodeFolder: string) =>
      toolsOnPath([nodeFolder, options.environment.PATH ?? ""].join(delimiter), user)
    return planSource(await trees.take(source.revisionId), source, { ...options, toolsBeside, user })
  }

  const requestOf = async (
    source: BuildSource,
    { plan, choice, platform, artifactId }: Plan,
  ): Promise<BuildRequest> => {
    const { tree, home } = placeOf(source.revisionId)
    const cache = join(folders.cache, source.deploymentId)
    const reader = isolation.user(source.deploymentNumber) ?? null
    const user = reader && builderBeside(reader)
    const packageCache = join(cache, "managers")
    await mkdir(packageCache, { recursive: true, mode: 0o755 })
    if (user) await closeFolder(cache, user)
    const environment = { base: options.environment, execPath: choice.node.path, home, cache: packageCache }
    return {
      tree,
      configPath: source.configPath,
      artifactFolder: join(folders.artifacts, artifactId),
      ...(options.runsAt !== undefined && { runsAt: options.runsAt }),
      home,
      plan,
      environment: buildEnvironment(environment),
      packageCache,
      keptPackages: join(cache, "packages"),
      platform,
      node: choice.node,
      notes: choice.note === undefined ? [] : [choice.note],
      limits: options.limits,
      verifyEntry: options.verifyEntry,
      verifyPython: options.verifyPython,
      user,
      reader,
    }
  }

  const start: Builds["start"] = async (source, secrets) => {
    const planned = await planOf(source)
    const variables = { ...planned.env, ...revealAll(secrets) }
    await startBuild(placeOf(source.revisionId).build, await requestOf(source, planned), variables)
  }

  const state = async (revisionId: string): Promise<BuildState> => {
    const folder = placeOf(revisionId).build
    const now = await buildState(folder)
    if (now.state === "absent" || now.state === "running") return now
    const isFull = !(await hasRoom(folder))
    if (now.state === "vanished")
      return { state: "ended", why: isFull ? `it ended since ${diskIsFull}: ENOSPC` : "the build process was killed" }
    return outcomeOf(now.result, { isFull, request: await requestIn(folder) })
  }

  const remove = async (revisionId: string): Promise<void> => {
    await stopBuild(placeOf(revisionId).build)
    await removeTree(placeOf(revisionId).folder)
  }

  return {
    prepare: async (revisionId) => {
      await remove(revisionId)
      return trees.prepare(revisionId)
    },
    hasTree: trees.has,
    plan: async (source) => (await planOf(source)).artifactId,
    start,
    state,
    logs: async (revisionId, from) => {
      const { lines, next } = await readLines(buildFiles(placeOf(revisionId).build).log, from)
      return { lines: lines.map(parseBuildLine), next }
    },
    watch: async (revisionId, onChange) => watchFolder(placeOf(revisionId).build, onChange),
    forgetResult: (revisionId) => rm(buildFiles(placeOf(revisionId).build).result, { force: true }),
    stop: (revisionIds) => stopBuilds(folders, revisionIds),
    remove,
    list: () => readdir(folders.work),
  }
}

/** @param only  the revisions whose builds to stop; all of the installation when it is missing */
export async function stopBuilds(folders: Pick<MachineFolders, "work">, only?: ReadonlySet<string>): Promise<void> {
  // Missing: nothing was built yet.
  const present = await readdir(folders.work).catch(ifCode(missing, []))
  const chosen = only ? present.filter((id) => only.has(id)) : present
  await Promise.all(chosen.map((revisionId) => stopBuild(workFolder(folders, revisionId).build)))
}

/** Pure. It cannot be known whose fault a full disk is, and an internal one may pass: then the build counts as ended. */
function outcomeOf(
  result: BuildResult,
  { isFull, request }: { readonly isFull: boolean; readonly request: BuildRequest },
): BuildState {
  if (result.outcome === "published") {
    const { graphs, langgraph_version: langgraphVersion, lacks_schemas: lacksSchemas } = result
    const artifact = { artifactId: basename(request.artifactFolder), platform: request.platform }
    return { state: "published", artifact: { ...artifact, graphs, langgraphVersion, lacksSchemas } }
  }
  const { error_code: code, message } = result
  if (code !== "internal" && !isFull) return { state: "failed", code, message }
  return { state: "ended", why: isFull ? `${message} (ENOSPC)` : message }
}

async function requestIn(folder: string): Promise<BuildRequest> {
  const { request } = buildFiles(folder)
  const found = await readJson(request)
  if (!found) throw new Error(`${request} is gone`)
  return parseRequest(found)
}

/** Keeps the folder ours, and lets the group pass through it. */
async function closeFolder(folder: string, { gid }: OsUser): Promise<void> {
  await chown(folder, 0, gid)
  await chmod(folder, 0o750)
}
