/**
 * Gives a project with graphs in Python an environment with its packages, as a build of a deployment does, so that `superstep dev` needs
 * no preparation. It is `.venv` in the project's folder, where editors and uv look for it too, and is made once: after that it is the
 * user's, and deleting it makes the next start install anew.
 */
import { existsSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, relative } from "node:path"
import { readProjectConfig } from "@superstep/builder/project/project-facts"
import { choosePython } from "@superstep/builder/python/choose-python"
import { planPython, venvName } from "@superstep/builder/python/plan-python"
import { readPythonFacts } from "@superstep/builder/python/python-facts"
import { installedPythons } from "@superstep/builder/python/pythons"
import { toolsOnPath } from "@superstep/builder/tools"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import type { Config } from "../command-line/config.js"
import type { Project } from "./project.js"

export class PythonNotInstalled extends KnownError {
  readonly code = "python_not_installed"
}

// The packages of an agent are some hundred megabytes.
const installMs = 15 * 60_000

export interface PythonSetting {
  readonly environment: Config["environment"]
  /** Ends the installation. */
  readonly signal: AbortSignal
  /** Shows that work goes on while packages are installed. */
  readonly whileInstalling: <T>(words: string, work: () => Promise<T>) => Promise<T>
}

/**
 * Does nothing for a project without graphs in Python, with an environment, or whose Python has langgraph.
 * @throws BuildFailed         the project asks for something that cannot be
 * @throws PythonNotInstalled  with the installer's last lines
 */
export async function preparePython({ folder, configPath }: Project, setting: PythonSetting): Promise<void> {
  const { environment, signal, whileInstalling } = setting
  const venv = join(folder, venvName)
  if (existsSync(join(venv, "bin/python")) || environment.SUPERSTEP_PYTHON) return
  const root = repositoryOf(folder)
  const path = relative(root, configPath)
  const { python: config } = await readProjectConfig(root, path)
  if (!config || (await hasLanggraph(environment))) return
  const program = choosePython(config.version, await installedPythons(environment).found(undefined)).path
  const project = { config, facts: await readPythonFacts(root, path, config), program, folder: relative(root, folder) }
  const hasUv = (await toolsOnPath(environment.PATH ?? "")).has("uv")
  const cache = join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "superstep")
  await mkdir(cache, { recursive: true })
  try {
    await whileInstalling(`installing the project's Python packages into ${venvName}`, async () => {
      for (const { argv, folder: at } of planPython(project, { hasUv, hasPackages: true }))
        await runCommand({
          argv,
          cwd: join(root, at),
          env: { ...definedIn(environment), XDG_CACHE_HOME: cache },
          timeoutMs: installMs,
          signal,
        })
    })
  } catch (cause) {
    // Half an environment would count as one at the next start.
    await rm(venv, { recursive: true, force: true })
    if (!(cause instanceof CommandFailed)) throw cause
    throw new PythonNotInstalled(`the project's Python packages could not be installed: ${cause.message}`, { cause })
  }
}

/** The folder of the repository, which a workspace of uv spans; the project's own outside of one. */
function repositoryOf(folder: string): string {
  for (let at = folder; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, ".git"))) return at
  return folder
}

/** Whether the Python that the server would use has it: then the user manages the packages. */
async function hasLanggraph(environment: Config["environment"]): Promise<boolean> {
  // Other packages, such as langgraph-checkpoint, also have a folder of that name.
  const look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('langgraph.graph') is None)"
  try {
    await runCommand({ argv: ["python3", "-c", look], cwd: homedir(), env: definedIn(environment), timeoutMs: 10_000 })
    return true
  } catch {
    // There is no python3, or it lacks the package.
    return false
  }
}

const definedIn = (environment: Config["environment"]): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined))
