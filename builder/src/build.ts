/** Runs the steps of a build, one after the other, inside the build process. */
import { lstat, mkdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { usedDiskMb } from "@superstep/toolkit/files/disk-use"
import { makeEmptyFolder } from "@superstep/toolkit/files/empty-folder"
import { giveTree } from "@superstep/toolkit/files/own-tree"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { BuildContext, BuildInput } from "./build-input.js"
import type { WriteLine } from "./build-log.js"
import { type BuildRequest, type BuildResult, type FailedBuild, stepLimitMs } from "./build-request.js"
import { findConfinement } from "./confinement.js"
import { BuildFailed } from "./faults/build-failed.js"
import { keepPackages, restorePackages } from "./kept-packages.js"
import { gatherEntries } from "./log-entries.js"
import { packagesKey } from "./packages-key.js"
import type { BuildStep } from "./project/build-step.js"
import { checkEnvironment, readProjectConfig } from "./project/project-facts.js"
import { closeAndPrune, publish } from "./publish.js"
import { installFailure } from "./python/install-failure.js"
import { venvName } from "./python/plan-python.js"
import { relocate } from "./python/relocate.js"
import { runStep } from "./run-step.js"
import type { StepRoom } from "./step-watch.js"
import { codeFor, saysHeapIsFull, wordsFor } from "./step-words.js"
import { verify } from "./verify-step.js"

/** @throws BuildFailed  with a reason for the person who pushed the code */
export async function build(context: BuildContext): Promise<BuildResult> {
  const begun = performance.now()
  await runSteps(context)
  const result = await finishBuild(context)
  context.writeLine(`build finished in ${msSince(begun)} ms`)
  return result
}

/** The commands of the project, which never see the deployment's variables. @throws BuildFailed */
export async function runSteps(context: BuildContext): Promise<void> {
  const { request, writeLine } = context
  await giveToBuilder(request)
  for (const note of request.notes) writeLine(note, "WARNING")
  const input = await inputOf(context)
  for (const step of request.plan.steps) await runOrRestore(step, input)
}

/** Loads the graphs, and publishes the tree in which the steps have run. @throws BuildFailed */
export async function finishBuild(context: BuildContext): Promise<BuildResult> {
  const { writeLine } = context
  const input = await inputOf(context)
  const loaded = await timed(writeLine, "verify", "verify: load every graph", () => verify(input))
  await timed(writeLine, "publish", undefined, () => publishTree(input))
  const { graphs, langgraph_version = null, lacks_schemas } = loaded
  return { outcome: "published", graphs, langgraph_version, lacks_schemas }
}

/** Says it in the log, too. @param hide  removes secrets from a text */
export function failedResult(error: unknown, hide: (text: string) => string, writeLine: WriteLine): FailedBuild {
  const message = hide(error instanceof Error ? error.message : String(error))
  writeLine(message, "ERROR")
  const code = error instanceof BuildFailed ? error.code : "internal"
  return { outcome: "failed", error_code: code, message }
}

const inputOf = async (context: BuildContext): Promise<BuildInput> => ({
  ...context,
  room: roomOf(context.request),
  confinement: await findConfinement(context.request.environment),
})

async function publishTree({ request, writeLine }: BuildInput): Promise<void> {
  const gone = await closeAndPrune(request.tree, request.reader, dirname(request.configPath))
  for (const path of gone) writeLine(`left out of the artifact: ${path}`)
  // Commands of the project may have changed the file since the plan was made.
  const config = await readProjectConfig(request.tree, request.configPath)
  await checkEnvironment(request.tree, request.configPath, config)
  const { tree, artifactFolder, runsAt = artifactFolder } = request
  if (config.python) await relocate(join(dirname(request.configPath), venvName), { from: tree, to: runsAt })
  await removeTree(request.home)
  await publish(request.tree, request.artifactFolder)
}

const roomOf = ({ limits, tree, home, packageCache }: BuildRequest): StepRoom => ({
  memoryMb: limits.memoryMb,
  diskMb: limits.diskMb,
  folders: [tree, home, packageCache],
})

/** Gives tree and home to the user who runs the project's commands, with the caches that package managers kept for it. */
async function giveToBuilder({ home, packageCache, tree, user }: BuildRequest): Promise<void> {
  await makeEmptyFolder(home, null)
  await mkdir(join(home, "tmp"), { mode: 0o700 })
  if (!user) return
  giveTree(home, user)
  giveTree(tree, user)
  const cache = await lstat(packageCache).catch(ifCode(missing))
  if (cache?.uid !== user.uid) await makeEmptyFolder(packageCache, user)
}

/** A cache grows with every version of every package; it makes builds faster, and must not use up a build's disk limit. */
async function keepCacheSmall({ packageCache, user, limits }: BuildRequest, writeLine: WriteLine): Promise<void> {
  if ((await usedDiskMb([packageCache])) <= limits.diskMb / 2) return
  await makeEmptyFolder(packageCache, user)
  writeLine("the package cache used more than half of the build's disk limit and was emptied")
}

// An installer explains its failure at the end of its output.
const explainingLines = 100

/** Restores the packages of a former install if they fit, else runs the install. */
async function runOrRestore(step: BuildStep, input: BuildInput): Promise<void> {
  const { request, writeLine } = input
  const { tree, platform, plan, user, reader, keptPackages: folder } = request
  const key = folder === undefined ? undefined : await packagesKey(tree, step, platform)
  if (key === undefined || folder === undefined) return runPlanned(step, input)
  const kept = { folder, tree, user, reader, mayBeChanged: plan.steps.at(-1) !== step }
  const begun = performance.now()
  if (await restorePackages(kept, key)) {
    writeLine(`install: the packages of this lock file are reused (${msSince(begun)} ms)`)
    return
  }
  await runPlanned(step, input)
  await timed(writeLine, "storing the packages for reuse", undefined, () => keepPackages(kept, key))
}

async function runPlanned(step: BuildStep, input: BuildInput): Promise<void> {
  const { request, writeLine } = input
  if (step.name === "install") await keepCacheSmall(request, writeLine)
  const shown = step.shown ?? step.argv.join(" ")
  const place = step.folder === "" ? "" : ` (in ${step.folder})`
  const limits = { limitMs: stepLimitMs(step, request.limits), silenceMs: request.limits.silenceMs }
  let isHeapFull = false
  const last: string[] = []
  const output = gatherEntries(writeLine)
  const onLine = (line: string) => {
    isHeapFull ||= saysHeapIsFull(line)
    if (last.push(line) > explainingLines) last.shift()
    output.push(line)
  }
  const command = {
    argv: step.argv,
    cwd: join(request.tree, step.folder),
    env: request.environment,
    user: request.user,
    ...limits,
    ...input,
  }
  await timed(writeLine, step.name, `${step.name}: ${shown}${place}`, async () => {
    const end = await runStep(command, onLine, input.signal)
    output.end()
    if (end.kind === "exited" && end.code === 0) return
    const code = isHeapFull && end.kind !== "not started" ? "build_oom" : codeFor(end, step.failure)
    const reason = step.name === "install" && end.kind === "exited" ? installFailure(last) : undefined
    throw new BuildFailed(code, `"${shown}" ${wordsFor(end, limits)}${reason === undefined ? "" : `: ${reason}`}`)
  })
}

/** Logs how long a part of the build took, also when it failed. */
async function timed<T>(writeLine: WriteLine, name: string, announced: string | undefined, work: () => Promise<T>) {
  const begun = performance.now()
  if (announced !== undefined) writeLine(announced)
  try {
    return await work()
  } finally {
    writeLine(`${name} took ${msSince(begun)} ms`)
  }
}

const msSince = (begun: number): number => Math.round(performance.now() - begun)
