/**
 * The installations of this user that run on this machine, so that a command in any folder finds them. `superstep up` adds a file
 * for each data folder to the user's state folder (`$XDG_STATE_HOME`, else `~/.local/state`). Whether one runs is read from the data folder itself, so
 * a killed program leaves nothing wrong behind.
 */
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { type Credentials, readCredentials } from "./credentials.js"
import { type Home, homeAt } from "./home.js"
import { livingEntry } from "./owner-file.js"

type Environment = Readonly<Record<string, string>>

export interface RunningInstallation {
  /** The data folder. */
  readonly folder: string
  readonly credentials: Credentials
}

const stateFolder = ({ XDG_STATE_HOME: state, HOME: home = homedir() }: Environment): string =>
  join(state ? state : join(home, ".local", "state"), "superstep", "installations")

const entryOf = (folder: string): string => createHash("sha256").update(folder).digest("hex").slice(0, 32)

/** Adds an installation, and forgets those that do not run. */
export async function registerInstallation({ folder }: Home, environment: Environment): Promise<void> {
  const state = stateFolder(environment)
  await mkdir(state, { recursive: true, mode: 0o700 })
  for (const name of await readdir(state)) {
    if ((await runningOf(join(state, name))) === undefined) await rm(join(state, name), { force: true })
  }
  await writeFile(join(state, entryOf(folder)), folder, { mode: 0o600 })
}

/** Those whose API can be called with the credentials of their data folder. */
export async function runningInstallations(environment: Environment): Promise<RunningInstallation[]> {
  const state = stateFolder(environment)
  const names = await readdir(state).catch(ifCode([...missing, "EACCES"], []))
  const found = await Promise.all(names.map((name) => runningOf(join(state, name))))
  return found.filter((one) => one !== undefined)
}

async function runningOf(entry: string): Promise<RunningInstallation | undefined> {
  const unreadable = ifCode([...missing, "EACCES"])
  const folder = await readFile(entry, "utf8").catch(unreadable)
  if (folder === undefined) return undefined
  const owner = await stat(folder).catch(unreadable)
  // A folder that another user has put in its place must not receive this user's code.
  if (owner === undefined || owner.uid !== process.getuid?.()) return undefined
  const home = homeAt(folder)
  if ((await livingEntry(home.owner))?.place === undefined) return undefined
  const credentials = await readCredentials(home)
  return credentials && { folder, credentials }
}
