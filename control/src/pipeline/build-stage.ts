/** build: turns a tree into an artifact, in the background of a machine that goes on when the control plane ends. */
import { setTimeout as sleep } from "node:timers/promises"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import type { BuildLogs, BuildSource, BuildState, PublishedArtifact } from "@superstep/machines/port/port"
import { secretsOf } from "@superstep/toolkit/config/settings"
import { pause } from "@superstep/toolkit/exec/pause"
import { addArtifact, artifactExists } from "../revisions/artifact-queries.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { logBuild, shipBuildLog } from "./build-log.js"
import { requireDisk, settleDisk } from "./disk-use.js"
import { fetchTree } from "./fetch-stage.js"
import { locate } from "./locate.js"
import type { RunStage, StageInput, StageOutcome } from "./stage.js"

// A build cannot call us; the machine notifies us of changes. The look is for one that was killed, and for a machine without notifications.
const lookMs = 1000
// Further reads of the end of a log that cannot be read, a second apart; after that the machine removes it.
const lastReads = 5
// Lets lines collect, so that a build with much output is stored in large pieces.
const restMs = 50

export const runBuild: RunStage = async (input) => {
  const { context, revision } = input
  const { builds } = context.machine
  context.crashPoint("build:begin")
  const now = await builds.state(revision.revision_id)
  if (now.state !== "absent" && now.state !== "ended") return follow(input, revision.build_log_offset)
  const source = sourceOf(input, await ensureTree(input, now))
  const artifactId = await builds.plan(source)
  if (await isPublished(input, artifactId)) {
    await logBuild(input, ["nothing has changed since this was built: the artifact is used again"])
    return finish(input, artifactId)
  }
  await requireDisk(input)
  await builds.start(source, secretsOf(await secretsOfRevision(context.db, context.key, revision)))
  context.crashPoint("build:after-start")
  return follow(input, 0)
}

/** Makes sure that the tree is as fetched: one that a killed build has changed is fetched again. */
async function ensureTree(input: StageInput, { state }: BuildState): Promise<string> {
  const { context, revision } = input
  const isFetched = revision.tree_hash !== null && (await context.machine.builds.hasTree(revision.revision_id))
  if (state === "absent" && isFetched && revision.tree_hash !== null) return revision.tree_hash
  if (revision.commit_sha === null) throw new Error(`revision ${revision.revision_id} has no commit`)
  return fetchTree(input, await locate(input), revision.commit_sha)
}

function sourceOf({ revision, deployment }: StageInput, treeHash: string): BuildSource {
  const { install_command: installCommand, build_command: buildCommand } = revision.source_config
  return {
    revisionId: revision.revision_id,
    deploymentId: revision.deployment_id,
    deploymentNumber: deployment.number,
    treeHash,
    configPath: revision.source_revision_config.langgraph_config_path ?? "langgraph.json",
    installCommand,
    buildCommand,
  }
}

const isPublished = async ({ context: { db, machine } }: StageInput, artifactId: string): Promise<boolean> =>
  (await artifactExists(db, artifactId)) && (await machine.artifacts.has(artifactId))

/** Waits for the end of a build, and stores its log meanwhile, from `logOffset` on. */
async function follow(input: StageInput, logOffset: number): Promise<StageOutcome> {
  const { context, revision, signal } = input
  let wake = new AbortController()
  const unwatch = await context.machine.builds.watch(revision.revision_id, () => wake.abort())
  const untilWritten = async () => {
    await sleep(restMs, undefined, { signal })
    await pause(lookMs, AbortSignal.any([wake.signal, signal]))
    signal.throwIfAborted()
    // What is written from now on is found by the next check, or wakes us again.
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
  let offset = logOffset
  for (;;) {
    const now = await context.machine.builds.state(revision.revision_id)
    offset = now.state === "running" ? (await shipNew(input, offset)).next : await shipRest(input, offset)
    if (now.state === "published") return conclude(input, now.artifact)
    if (now.state === "failed") {
      await settleDisk(input, undefined)
      throw new BuildFailed(now.code, now.message)
    }
    if (now.state === "absent") throw new Error("the build's folder was removed")
    if (now.state === "ended") {
      // Its result may say something else once there is room on the disk again.
      await context.machine.builds.forgetResult(revision.revision_id)
      throw new Error(now.why)
    }
    await untilWritten()
  }
}

/** Ships what can be read now. */
async function shipNew({ context, revision }: StageInput, offset: number): Promise<Omit<BuildLogs, "lines">> {
  for (let from = offset; ; ) {
    const read = await shipBuildLog(context, revision, from)
    if (read.next === from) return read
    from = read.next
  }
}

/** Ships the end of the log of a build that has ended, or adds a line that says that it is missing. */
async function shipRest(input: StageInput, offset: number): Promise<number> {
  const { context, revision, signal } = input
  let read = await shipNew(input, offset)
  for (let left = lastReads; read.unread !== undefined && left > 0; left--) {
    await sleep(lookMs, undefined, { signal })
    read = await shipNew(input, read.next)
  }
  if (read.unread === undefined) return read.next
  context.log.warn({ revision_id: revision.revision_id, why: read.unread }, "the end of a build's log is missing")
  await logBuild(input, [{ level: "WARNING", message: "the end of this log is missing: it could not be read" }])
  return read.next
}

async function conclude(input: StageInput, artifact: PublishedArtifact): Promise<StageOutcome> {
  const { context, revision } = input
  const exceeded = await settleDisk(input, artifact.artifactId)
  if (exceeded) throw exceeded
  context.crashPoint("build:after-publish")
  await addArtifact(context.db, { ...artifact, deploymentId: revision.deployment_id })
  context.crashPoint("build:after-artifact-row")
  return finish(input, artifact.artifactId)
}

async function finish({ context, revision }: StageInput, artifactId: string): Promise<StageOutcome> {
  await context.machine.builds.remove(revision.revision_id)
  context.crashPoint("build:before-advance")
  return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId }
}
