/** Decides how a project is installed and built: facts in, argument lists out. Pure. */

import { join, relative } from "node:path"
import { commandProblem } from "./command-problem.js"
import { BuildFailed } from "./faults/build-failed.js"
import { type InstallTool, installTool } from "./package-manager.js"
import type { BuildPlan, BuildStep } from "./project/build-step.js"
import type { FolderFacts, ProjectFacts } from "./project/project-facts.js"
import { inVenv, type PythonProject, planPython } from "./python/plan-python.js"

export interface BuildCommands {
  readonly installCommand: string | null
  readonly buildCommand: string | null
}

/**
 * @param tools         which of `npm`, `yarn`, `pnpm`, `bun` are on the path
 * @throws BuildFailed  `config_invalid` for a command with forbidden characters, or for what a `package.json` says below `superstep`
 * @see    control-plane §3.2: install at the root, build in the folder of `langgraph.json`
 */
export function planBuild(
  facts: ProjectFacts,
  commands: BuildCommands,
  tools: ReadonlySet<string>,
  python?: PythonProject,
): BuildPlan {
  const folder = installFolder(facts.folders)
  const tool = installTool(folder, tools)
  const steps = [
    // An environment first: the project's own command may install into it.
    ...(python ? planPython(python, { hasUv: tools.has("uv"), hasPackages: !commands.installCommand }) : []),
    installStep(commands, folder, tool, python),
    buildStep(commands, facts, tool, python),
    // Last: a build may generate types.
    typeCheckStep(facts.folders),
  ]
  return { steps: steps.filter((step) => step !== undefined) }
}

function installStep(
  { installCommand }: BuildCommands,
  folder: FolderFacts,
  tool: InstallTool,
  python: PythonProject | undefined,
): BuildStep | undefined {
  const step = { name: "install", failure: "install_failed" } as const
  if (installCommand) {
    const argv = shell("install_command", installCommand, python && { folder: "", python })
    return { ...step, argv, shown: installCommand, folder: "", isRepeatable: false }
  }
  if (!folder.package) return undefined
  return { ...step, argv: [...tool.command, ...tool.install], folder: folder.path, isRepeatable: tool.isRepeatable }
}

function buildStep(
  { buildCommand }: BuildCommands,
  facts: ProjectFacts,
  tool: InstallTool,
  python: PythonProject | undefined,
): BuildStep | undefined {
  const last = facts.folders.at(-1) ?? facts.folders[0]
  const step = { name: "build", failure: "build_command_failed", folder: last.path, isRepeatable: false } as const
  if (buildCommand)
    return {
      ...step,
      argv: shell("build_command", buildCommand, python && { folder: last.path, python }),
      shown: buildCommand,
    }
  if (!last.package?.hasBuildScript) return undefined
  return { ...step, argv: [...tool.command, "run", "build"] }
}

// The innermost compiler is the one that the project itself uses; a compiler of the machine is none.
const projectsOwnCompiler = `for folder; do
  test -x "$folder/node_modules/.bin/tsc" && exec "$folder/node_modules/.bin/tsc" --noEmit
done
echo 'typescript is not installed in the project: add it to devDependencies, or remove superstep.typecheck from package.json' >&2
exit 1`

/** In the folder of `langgraph.json`, whose `tsconfig.json` says what is checked. */
function typeCheckStep(folders: ProjectFacts["folders"]): BuildStep | undefined {
  const last = folders.at(-1) ?? folders[0]
  if (!checksTypes(last)) return undefined
  const outward = folders.map((_, depth) => join(".", ...Array<string>(depth).fill("..")))
  const argv = ["sh", "-c", projectsOwnCompiler, "sh", ...outward] as const
  const step = { name: "typecheck", failure: "type_check_failed", isRepeatable: false } as const
  return { ...step, argv, shown: "tsc --noEmit", folder: last.path }
}

function checksTypes({ path, package: manifest }: FolderFacts): boolean {
  const setting = manifest?.superstep.typecheck ?? false
  if (typeof setting === "boolean") return setting
  throw new BuildFailed("config_invalid", `${join(path, "package.json")}: superstep.typecheck must be true or false`)
}

/**
 * Where dependencies are installed: the innermost folder that has a lock file; without one the workspace's root, else
 * the innermost `package.json`. This serves a project in a folder of its own as well as a monorepo.
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

/** @param at  the folder in which it runs, for a project with an environment of Python */
function shell(
  name: string,
  command: string,
  at: { readonly folder: string; readonly python: PythonProject } | undefined,
): readonly [string, ...string[]] {
  const problem = commandProblem(command)
  if (problem) throw new BuildFailed("config_invalid", `${name} ${problem}`)
  return at ? inVenv(command, relative(at.folder, at.python.folder)) : ["sh", "-c", command]
}
