/** Finds the Pythons of this machine. They are searched each time, so that a new one needs no restart. */
import { execFile } from "node:child_process"
import { realpath, stat } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"

export interface PythonProgram {
  readonly path: string
  /** Such as `3.12.4`. */
  readonly version: string
}

export interface InstalledPythons {
  /** Those that a user may start; our own user's when undefined. */
  found(user: OsUser | undefined): Promise<PythonProgram[]>
}

const names = ["python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3"]
const usualFolders = ["/usr/local/bin", "/usr/bin"]

/** Where Pythons are on most systems. */
export const usualPythons = usualFolders.flatMap((folder) => names.map((name) => join(folder, name)))

/** @param environment  names the folders (`PATH`), and one program that comes first (`SUPERSTEP_PYTHON`) */
export function installedPythons(environment: NodeJS.ProcessEnv): InstalledPythons {
  const versions = new Map<string, string | undefined>()
  const path = environment.PATH ?? ""
  const folders = [...new Set([...path.split(delimiter).filter((folder) => folder !== ""), ...usualFolders])]
  const own = environment.SUPERSTEP_PYTHON
  const looks = [
    ...(own === undefined || own === "" ? [] : own.includes("/") ? [own] : folders.map((folder) => join(folder, own))),
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
  ]

  const found = async (user: OsUser | undefined): Promise<PythonProgram[]> => {
    const real = await Promise.all(looks.map(programAt))
    const programs: PythonProgram[] = []
    for (const program of new Set(real.filter((it) => it !== undefined))) {
      if (!(await isReachable(program, user))) continue
      // An upgrade may put another version at the same path.
      const { mtimeMs } = await stat(program)
      const known = `${program} ${mtimeMs}`
      const version = versions.has(known) ? versions.get(known) : await askVersion(program, path)
      versions.set(known, version)
      if (version !== undefined) programs.push({ path: program, version })
    }
    return programs
  }
  return { found }
}

async function programAt(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(ifCode([...missing, "EACCES", "EPERM", "ELOOP"]))
  return real !== undefined && (await stat(real)).isFile() ? real : undefined
}

async function askVersion(program: string, path: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 5000, env: { PATH: path } })
    return /^Python (\d+\.\d+\.\d+)/.exec(stdout)?.[1]
  } catch {
    // Not executable on this machine, or the script of a version manager without a version.
    return undefined
  }
}
