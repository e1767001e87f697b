/** Decides how a project is installed and built: facts in, argument lists out. Pure. */
import type { ErrorCode } from "../revisions/revision.js"
import { commandProblem } from "./command-problem.js"
import { BuildFailed } from "./failure.js"
import { type InstallTool, installTool } from "./package-manager.js"
import type { FolderFacts, ProjectFacts } from "./project-facts.js"

export interface BuildStep {
  readonly name: "install" | "build"
  readonly argv: readonly [string, ...string[]]
  /** Relative to the root of the tree; empty for the root. */
  readonly folder: string
  /** What the revision ends with when the step does not exit with 0. */
  readonly failure: Extract<ErrorCode, "install_failed" | "build_command_failed">
}

export interface BuildPlan {
  readonly steps: readonly BuildStep[]
  /** Sentences for the build log. */
  readonly notes: readonly string[]
}

export interface BuildWishes {
  readonly installCommand: string | null
  readonly buildCommand: string | null
}

export interface Toolchain {
  readonly nodeMajor: number
  /** Which of `npm`, `yarn`, `pnpm`, `bun` are on the path. */
  readonly tools: ReadonlySet<string>
}

/**
 * @throws BuildFailed  `node_version_unsupported`; `config_invalid` for a command with characters it may not have
 * @see    control-plane §3.2: install at the root, build where `langgraph.json` is
 */
export function planBuild(facts: ProjectFacts, wishes: BuildWishes, toolchain: Toolchain): BuildPlan {
  const folder = installFolder(facts.folders)
  const notes = checkNodeVersion(facts, toolchain.nodeMajor)
  const tool = installTool(folder, toolchain.tools)
  const steps = [installStep(wishes, folder, tool), buildStep(wishes, facts, tool)]
  return { steps: steps.filter((step) => step !== undefined), notes }
}

function installStep({ installCommand }: BuildWishes, folder: FolderFacts, tool: InstallTool): BuildStep | undefined {
  const step = { name: "install", failure: "install_failed" } as const
  if (installCommand) return { ...step, argv: shell("install_command", installCommand), folder: "" }
  if (!folder.package) return undefined
  return { ...step, argv: [...tool.command, ...tool.install], folder: folder.path }
}

function buildStep({ buildCommand }: BuildWishes, facts: ProjectFacts, tool: InstallTool): BuildStep | undefined {
  const last = facts.folders.at(-1) ?? facts.folders[0]
  const step = { name: "build", failure: "build_command_failed", folder: last.path } as const
  if (buildCommand) return { ...step, argv: shell("build_command", buildCommand) }
  if (!last.package?.hasBuildScript) return undefined
  return { ...step, argv: [...tool.command, "run", "build"] }
}

/**
 * Where dependencies are installed: the innermost folder that has a lock file; without one the workspace's root, else
 * the innermost `package.json`. So a project in a folder of its own works, and so does a monorepo.
 */
export function installFolder(folders: ProjectFacts["folders"]): FolderFacts {
  const inward = [...folders].reverse()
  return (
    inward.find(({ lockFiles }) => lockFiles.length > 0) ??
    folders.find((folder) => folder.package?.hasWorkspaces) ??
    inward.find((folder) => folder.package !== undefined) ??
    folders[0]
  )
}

function shell(name: string, command: string): readonly [string, ...string[]] {
  const problem = commandProblem(command)
  if (problem) throw new BuildFailed("config_invalid", `${name} ${problem}`)
  return ["sh", "-c", command]
}

// The oldest that Superstep itself runs on.
const oldestNode = 20

/** A newer Node runs what an older one was asked for; the log says so. The other way round is an error. */
function checkNodeVersion({ config, folders }: ProjectFacts, ours: number): string[] {
  const fromEngines = folders
    .map((folder) => folder.package?.enginesNode)
    .map(majorWanted)
    .findLast((major) => major !== undefined)
  const wanted = config.nodeMajor ?? fromEngines
  if (wanted === undefined || wanted === ours) return []
  const origin = config.nodeMajor === undefined ? '"engines" of package.json' : '"node_version"'
  if (wanted > ours) {
    throw new BuildFailed(
      "node_version_unsupported",
      `${origin} asks for Node ${wanted}, and Superstep runs on Node ${ours}: start it with Node ${wanted}, or lower the version`,
    )
  }
  if (wanted < oldestNode && config.nodeMajor !== undefined) {
    throw new BuildFailed("node_version_unsupported", `${origin} asks for Node ${wanted}: the oldest is ${oldestNode}`)
  }
  return [`${origin} asks for Node ${wanted}; Node ${ours} is used, the version that Superstep runs on`]
}

/** The lowest major that a range such as `>=22`, `^20.19` or `24.x` allows, where it is that simple. */
function majorWanted(range: string | undefined): number | undefined {
  const [, major] = range?.match(/^\s*(?:>=|\^|~|=|v)?\s*v?(\d+)/) ?? []
  return major === undefined ? undefined : Number(major)
}
