/** build: from a tree to an artefact, in a process that outlives us. */

import { chmod, chown, mkdir, rm } from "node:fs/promises"
import { basename, delimiter, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { pause } from "@superstep/toolkit/exec/pause"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { artifactId } from "../builders/artifact.js"
import { type BuildState, buildState, startBuild } from "../builders/build-process.js"
import { type BuildRequest, type BuildResult, buildFiles } from "../builders/build-request.js"
import { chooseNode, type NodeChoice, type NodeProgram, wishedNode } from "../builders/choose-node.js"
import { buildEnvironment } from "../builders/environment.js"
import { BuildFailed } from "../builders/failure.js"
import { type BuildPlan, planBuild } from "../builders/plan.js"
import { type ProjectFacts, readProjectFacts } from "../builders/project-facts.js"
import { toolsOnPath } from "../builders/tools.js"
import { diskIsFull, hasRoom } from "../files/disk-room.js"
import { watchFolder } from "../files/growing-file.js"
import { readJson } from "../files/json-file.js"
import { removeTree } from "../files/remove-tree.js"
import { builderBeside } from "../runtimes/isolation.js"
import { agentEnvOf } from "./agent-env.js"
import { addArtifact, artifactExists } from "./artifact-queries.js"
import type { PipelineContext } from "./context.js"
import { fetchTree, isThere } from "./fetch-stage.js"
import { workFolder } from "./folders.js"
import { locate } from "./locate.js"
import { logBuild, shipBuildLog } from "./log-shipping.js"
import { platformOf } from "./platform.js"
import type { RunStage, StageInput, StageOutcome } from "./stage.js"

// The build writes files and cannot call us, but the machine tells of them. A look now and then is for a build that was
// killed, which writes nothing, and for a machine that tells nothing.
const lookMs = 1000
// Of a build that prints much, large pieces are stored.
const restMs = 50

export const runBuild: RunStage = async (input) => {
  const { context, revision } = input
  const work = workFolder(context.folders, revision.revision_id)
  context.crashPoint("build:begin")
  const state = await buildState(work.build)
  if (state.state === "running" || state.state === "finished") return follow(input, revision.build_log_offset)
  const treeHash = await ensureTree(input, state)
  const planned = await planOf(input, treeHash)
  if (await artifactIsPublished(input, planned.id)) {
    await logBuild(input, ["nothing has changed since this was built: the artefact is used again"])
    return finish(input, planned.id)
  }
  await startBuild(work.build, await requestOf(input, planned), await agentEnvOf(context, revision, planned.env))
  context.crashPoint("build:after-start")
  return follow(input, 0)
}

/** The tree as it was fetched: one that a killed build has changed is fetched anew. */
async function ensureTree(input: StageInput, state: BuildState): Promise<string> {
  const { context, revision } = input
  const { tree } = workFolder(context.folders, revision.revision_id)
  if (state.state === "absent" && revision.tree_hash !== null && (await isThere(tree))) return revision.tree_hash
  if (revision.commit_sha === null) throw new Error(`revision ${revision.revision_id} has no commit`)
  return fetchTree(input, await locate(input), revision.commit_sha)
}

interface Planned {
  readonly plan: BuildPlan
  readonly choice: NodeChoice
  /** The artefact's. */
  readonly id: string
  /** What `langgraph.json` sets. */
  readonly env: Readonly<Record<string, string>>
}

/** @throws BuildFailed  for everything that is wrong before a command runs */
async function planOf({ context, revision, deployment }: StageInput, treeHash: string): Promise<Planned> {
  const { tree } = workFolder(context.folders, revision.revision_id)
  const configPath = configPathOf(revision)
  const facts = await readProjectFacts(tree, configPath)
  const { install_command: installCommand, build_command: buildCommand } = revision.source_config
  const choice = await nodeFor(facts, context, context.isolation.user(deployment.uid_offset))
  const plan = planBuild(facts, { installCommand, buildCommand }, await toolsOnPath(pathFor(choice, context)))
  const { deployment_id: deploymentId } = revision
  const id = artifactId({ deploymentId, treeHash, configPath, plan, platform: platformOf(choice.node) })
  return { plan, choice, id, env: facts.config.env }
}

/** The others of the machine are looked for only when ours is not what the project asks for. */
async function nodeFor(facts: ProjectFacts, { nodes }: PipelineContext, user: OsUser | undefined): Promise<NodeChoice> {
  const wish = wishedNode(facts)
  if (!wish || wish.range.includes(nodes.own.version)) return { node: nodes.own, note: undefined }
  return chooseNode(wish, nodes.own, await nodes.others(user))
}

const pathFor = ({ node }: NodeChoice, { environment }: PipelineContext): string =>
  [dirname(node.path), environment.PATH ?? ""].join(delimiter)

const configPathOf = (revision: StageInput["revision"]): string =>
  revision.source_revision_config.langgraph_config_path ?? "langgraph.json"

const artifactIsPublished = async ({ context: { db, folders } }: StageInput, id: string): Promise<boolean> =>
  (await artifactExists(db, id)) && (await isThere(join(folders.artifacts, id)))

async function requestOf(input: StageInput, { plan, choice, id }: Planned): Promise<BuildRequest> {
  const { context, revision, deployment } = input
  const { folders, limits, isolation, verifyEntry } = context
  const work = workFolder(folders, revision.revision_id)
  const cache = join(folders.cache, deployment.deployment_id)
  const reader = isolation.user(deployment.uid_offset) ?? null
  const user = reader && builderBeside(reader)
  const packageCache = join(cache, "managers")
  await mkdir(packageCache, { recursive: true, mode: 0o755 })
  if (user) await closeFolder(cache, user)
  const { installMs, buildMs, silenceMs, verifyMs, memoryMb, diskMb } = limits
  return {
    tree: work.tree,
    configPath: configPathOf(revision),
    artifactFolder: join(folders.artifacts, id),
    home: work.home,
    plan,
    environment: buildEnvironment({
      base: context.environment,
      execPath: choice.node.path,
      home: work.home,
      cache: packageCache,
    }),
    packageCache,
    keptPackages: join(cache, "packages"),
    platform: platformOf(choice.node),
    node: choice.node,
    notes: choice.note === undefined ? [] : [choice.note],
    limits: { installMs, buildMs, silenceMs, verifyMs, memoryMb, diskMb },
    verifyEntry,
    user,
    reader,
  }
}

/** It stays ours, and its users may pass through it. */
async function closeFolder(folder: string, { gid }: OsUser): Promise<void> {
  await chown(folder, 0, gid)
  await chmod(folder, 0o750)
}

/** Stays with a build until it has ended, and stores its log on the way, from `logOffset` on. */
async function follow(input: StageInput, logOffset: number): Promise<StageOutcome> {
  const { build } = workFolder(input.context.folders, input.revision.revision_id)
  let wake = new AbortController()
  const unwatch = watchFolder(build, () => wake.abort())
  const untilWritten = async () => {
    await sleep(restMs, undefined, { signal: input.signal })
    await pause(lookMs, AbortSignal.any([wake.signal, input.signal]))
    input.signal.throwIfAborted()
    // What is written from now on is found by the look that follows, or wakes again.
    wake = new AbortController()
  }
  try {
    return await shipToItsEnd(input, logOffset, untilWritten)
  } finally {
    unwatch?.()
  }
}

async function shipToItsEnd(
  input: StageInput,
  logOffset: number,
  untilWritten: () => Promise<void>,
): Promise<StageOutcome> {
  const { context, revision } = input
  const { build } = workFolder(context.folders, revision.revision_id)
  const { log, request } = buildFiles(build)
  let offset = logOffset
  for (;;) {
    const state = await buildState(build)
    let before: number
    do {
      before = offset
      offset = await shipBuildLog(context, revision, log, offset)
    } while (offset !== before)
    if (state.state === "finished") return conclude(input, state.result, request)
    if (state.state !== "running") {
      throw new Error((await hasRoom(build)) ? "the build process was killed" : `it ended since ${diskIsFull}: ENOSPC`)
    }
    await untilWritten()
  }
}

async function conclude(input: StageInput, result: BuildResult, requestFile: string): Promise<StageOutcome> {
  const { context, revision } = input
  if (result.outcome === "failed") return fail(input, result)
  context.crashPoint("build:after-publish")
  const { id, node } = await builtArtifact(requestFile)
  await addArtifact(context.db, {
    artifactId: id,
    deploymentId: revision.deployment_id,
    platform: platformOf(node),
    graphs: result.graphs,
    langgraphVersion: result.langgraph_version,
  })
  context.crashPoint("build:after-artifact-row")
  return finish(input, id)
}

type FailedBuild = Extract<BuildResult, { outcome: "failed" }>

/** A fault of the machine may pass: without its result the build counts as killed, so the next try is a new build. */
async function fail({ context, revision }: StageInput, { error_code: code, message }: FailedBuild): Promise<never> {
  const { build } = workFolder(context.folders, revision.revision_id)
  // Whose fault a full disk is cannot be told.
  const isFull = !(await hasRoom(build))
  if (code !== "internal" && !isFull) throw new BuildFailed(code, message)
  await rm(buildFiles(build).result, { force: true })
  throw new Error(isFull ? `${message} (ENOSPC)` : message)
}

async function builtArtifact(requestFile: string): Promise<{ id: string; node: NodeProgram }> {
  const request = await readJson<BuildRequest>(requestFile)
  if (!request) throw new Error(`${requestFile} is gone`)
  return { id: basename(request.artifactFolder), node: request.node }
}

async function finish({ context, revision }: StageInput, id: string): Promise<StageOutcome> {
  await removeTree(workFolder(context.folders, revision.revision_id).folder)
  context.crashPoint("build:before-advance")
  return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId: id }
}
