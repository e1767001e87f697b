/**
 * Decides how the packages of a Python project are installed: into `.venv` beside `langgraph.json`, where the agent server looks for
 * them. With a lock file of uv exactly what it says, else what `dependencies` names. Pure.
 */
import { join, relative } from "node:path"
import type { BuildStep } from "../project/build-step.js"
import type { PythonConfig } from "../project/project-config.js"
import type { PythonDependency, PythonFacts } from "./python-facts.js"

export interface PythonProject {
  readonly config: PythonConfig
  readonly facts: PythonFacts
  /** The path of the Python that was chosen. */
  readonly program: string
  /** The folder of `langgraph.json`, relative to the root of the tree; empty for the root. */
  readonly folder: string
}

export const venvName = ".venv"

// Where no uv is installed, a deployment gets this version for its builds.
const uvVersion = "0.9.11"

const step = { name: "install", isRepeatable: false, failure: "install_failed" } as const

/**
 * @param hasUv        whether `uv` is on the path
 * @param hasPackages  false when the project's own command installs them
 */
export function planPython(project: PythonProject, { hasUv, hasPackages }: PythonPlanning): BuildStep[] {
  const { config, facts, program, folder } = project
  const packages = hasPackages ? facts.dependencies.flatMap(argumentsFor) : []
  if (hasPackages && facts.lockFolder !== undefined) return [syncStep(project, facts.lockFolder, hasUv)]
  const isPip = config.installer === "pip" || config.pipConfigFile !== undefined
  // The project's own command may want pip.
  if (isPip || packages.length === 0) return withPip(project, packages)
  const own = config.installer === "uv" ? withOwnUvOnly : withUvOrPip
  const shown = `install ${packages.join(" ")}`
  if (!hasUv) return [{ ...step, argv: ["sh", "-c", own, "install", program, ...packages], shown, folder }]
  return [
    { ...step, argv: ["uv", "venv", "--python", program, venvName], folder },
    { ...step, argv: ["uv", "pip", "install", "--python", venvPython, ...packages], folder },
  ]
}

export interface PythonPlanning {
  readonly hasUv: boolean
  readonly hasPackages: boolean
}

function withPip({ config, program, folder }: PythonProject, packages: readonly string[]): BuildStep[] {
  const create: BuildStep = { ...step, argv: [program, "-m", "venv", venvName], folder }
  if (packages.length === 0) return [create]
  const pip = [venvPython, "-m", "pip", "install", ...packages] as const
  return [create, { ...step, argv: [...pipSettings(config), ...pip], folder }]
}

function syncStep({ config, facts, program, folder }: PythonProject, lockFolder: string, hasUv: boolean): BuildStep {
  const venv = join(relative(lockFolder, folder), venvName)
  const package_ = config.uvPackage === undefined ? [] : ["--package", config.uvPackage]
  const sync = ["sync", "--frozen", "--no-dev", "--python", program, ...package_]
  const uv: [string, ...string[]] = hasUv ? ["uv", ...sync] : ["sh", "-c", withOwnUv, "uv", program, ...sync]
  const argv = ["env", `UV_PROJECT_ENVIRONMENT=${venv}`, ...uv] as const
  // In a member of a workspace, uv installs that member; the environment's path counts from the workspace's root.
  const shown = ["uv", ...sync].join(" ")
  return { ...step, argv, shown, folder: config.uvPackage === undefined && facts.isPackage ? folder : lockFolder }
}

const venvPython = join(venvName, "bin/python")

// It is kept with the caches of package managers, so it is installed once for each deployment.
const ownUv = `python="$1"; shift
own="$XDG_CACHE_HOME/uv-${uvVersion}"
test -x "$own/bin/uv" || { "$python" -m venv "$own" && "$own/bin/python" -m pip install --quiet uv==${uvVersion}; }`

const withOwnUv = `${ownUv} || exit 1
exec "$own/bin/uv" "$@"`

const install = `"$own/bin/uv" venv --python "$python" ${venvName} && exec "$own/bin/uv" pip install --python ${venvPython} "$@"`

const withOwnUvOnly = `${ownUv} || exit 1
${install}`

const withUvOrPip = `${ownUv}
if test -x "$own/bin/uv"; then
  ${install}
else
  "$python" -m venv ${venvName} && exec ${venvPython} -m pip install "$@"
fi`

const pipSettings = ({ pipConfigFile }: PythonConfig): [string, ...string[]] | [] =>
  pipConfigFile === undefined ? [] : ["env", `PIP_CONFIG_FILE=${pipConfigFile}`]

/** Packages of the tree are installed editable: their modules stay beside the files that they read. */
function argumentsFor(dependency: PythonDependency): string[] {
  if (dependency.kind === "requirement") return [dependency.text]
  const { path, extras, isPackage, hasRequirements } = dependency
  return [
    ...(hasRequirements ? ["-r", join(path, "requirements.txt")] : []),
    ...(isPackage ? ["-e", `${path}${extras}`] : []),
  ]
}

/** The user's own command, with the programs of the environment first on the path. */
export const inVenv = (command: string, folder: string): [string, ...string[]] => [
  "env",
  `VENV=${join(folder, venvName)}`,
  "sh",
  "-c",
  'export VIRTUAL_ENV="$PWD/$VENV" PATH="$PWD/$VENV/bin:$PATH"; unset VENV; eval "$0"',
  command,
]
