/** Finds the Nodes of this machine: our own, and those that version managers or the operator installed. */
import { execFile } from "node:child_process"
import { readdir, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"
import type { NodeProgram } from "./choose-node.js"
import type { FetchableNode } from "./fetch-node.js"

export interface InstalledNodes {
  /** The Node that we run on. */
  readonly own: NodeProgram
  /** The others that a user may start. They are searched each time, so that a new one needs no restart. */
  others(user: OsUser | undefined): Promise<NodeProgram[]>
  /** A newer one for builds that can be fetched, and is among the others then. */
  readonly fetchable?: FetchableNode | undefined
}

export const ownNode: NodeProgram = { path: process.execPath, version: process.version }

/**
 * @param folders      of the setting SUPERSTEP_NODE_DIRS: each is a Node's own folder, or contains such folders
 * @param environment  names the folders of version managers
 */
export function installedNodes(folders: readonly string[], environment: NodeJS.ProcessEnv): InstalledNodes {
  const versions = new Map<string, string>()
  const others = async (user: OsUser | undefined): Promise<NodeProgram[]> => {
    const candidates = await candidatesIn([...folders, ...managersFolders(environment)])
    const found = await Promise.all(
      candidates.map(async (path): Promise<NodeProgram[]> => {
        if (!(await isReachable(path, user))) return []
        const version = versions.get(path) ?? (await askVersion(path))
        if (version === undefined) return []
        versions.set(path, version)
        return [{ path, version }]
      }),
    )
    return found.flat()
  }
  return { own: ownNode, others }
}

/** The folders where nvm, fnm, volta, mise, asdf and n install Nodes. Pure. */
export function managersFolders(env: NodeJS.ProcessEnv): string[] {
  const home = env.HOME
  const data = env.XDG_DATA_HOME ?? (home && join(home, ".local", "share"))
  const below = (base: string | undefined, ...path: string[]) => (base ? [join(base, ...path)] : [])
  return [
    ...below(env.NVM_DIR ?? (home && join(home, ".nvm")), "versions", "node"),
    ...below(env.FNM_DIR ?? (data && join(data, "fnm")), "node-versions"),
    ...below(env.VOLTA_HOME ?? (home && join(home, ".volta")), "tools", "image", "node"),
    ...below(env.MISE_DATA_DIR ?? (data && join(data, "mise")), "installs", "node"),
    ...below(env.ASDF_DATA_DIR ?? (home && join(home, ".asdf")), "installs", "nodejs"),
    ...below(env.N_PREFIX ?? "/usr/local", "n", "versions", "node"),
  ]
}

/** The programs in these folders and in the folders below them; a link and its target count as one. */
async function candidatesIn(folders: readonly string[]): Promise<string[]> {
  const nested = await Promise.all(folders.map(async (folder) => [folder, ...(await foldersBelow(folder))]))
  const looks = nested
    .flat()
    .flatMap((folder) => ["bin/node", "installation/bin/node", "node"].map((it) => join(folder, it)))
  const found = await Promise.all(looks.map(programAt))
  return [...new Set(found.filter((path) => path !== undefined))]
}

const foldersBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(ifCode(notOurs, []))).map(({ name }) => join(folder, name))

async function programAt(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(ifCode(notOurs))
  return real !== undefined && (await stat(real)).isFile() ? real : undefined
}

// The version manager is not installed, or we may not read its folder, or a link is broken.
const notOurs = [...missing, "EACCES", "EPERM", "ELOOP"]

async function askVersion(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 5000, env: {} })
    return /^v\d+\.\d+\.\d+/.exec(stdout.trim())?.[0]
  } catch {
    // Not executable on this machine.
    return undefined
  }
}
