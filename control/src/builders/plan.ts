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
  /** The same manifests and lock file give the same packages, and nothing else. */
  readonly isRepeatable: boolean
  /** What the revision ends with when the step does not exit with 0. */
  readonly failure: Extract<ErrorCode, "install_failed" | "build_command_failed">
}

export interface BuildPlan {
  readonly steps: readonly BuildStep[]
}

export interface BuildWishes {
  readonly installCommand: string | null
  readonly buildCommand: string | null
}

/**
 * @param tools         which of `npm`, `yarn`, `pnpm`, `bun` are on the path
 * @throws BuildFailed  `config_invalid` for a command with characters it may not have
 * @see    control-plane §3.2: install at the root, build where `langgraph.json` is
 */
export function planBuild(facts: ProjectFacts, wishes: BuildWishes, tools: ReadonlySet<string>): BuildPlan {
  const folder = installFolder(facts.folders)
  const tool = installTool(folder, tools)
  const steps = [installStep(wishes, folder, tool), buildStep(wishes, facts, tool)]
  return { steps: steps.filter((step) => step !== undefined) }
}

function installStep({ installCommand }: BuildWishes, folder: FolderFacts, tool: InstallTool): BuildStep | undefined {
  const step = { name: "install", failure: "install_failed" } as const
  if (installCommand) {
    return { ...step, argv: shell("install_command", installCommand), folder: "", isRepeatable: false }
  }
  if (!folder.package) return undefined
  return { ...step, argv: [...tool.command, ...tool.install], folder: folder.path, isRepeatable: tool.isRepeatable }
}

function buildStep({ buildCommand }: BuildWishes, facts: ProjectFacts, tool: InstallTool): BuildStep | undefined {
  const last = facts.folders.at(-1) ?? facts.folders[0]
  const step = { name: "build", failure: "build_command_failed", folder: last.path, isRepeatable: false } as const
  if (buildCommand) return { ...step, argv: shell("build_command", buildCommand) }
  if (!last.package?.hasBuildScript) return undefined
  return { ...step, argv: [...tool.command, "run", "build"] }
}

/**
 * Where dependencies are installed: the innermost folder that has a lock file; without one the workspace's root, else
 * the innermost `package.json`. So a project in a folder of its own works, and so does a monorepo.
 */
function installFolder(folders: ProjectFacts["folders"]): FolderFacts {
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
