/** The data folder: one process has it, it has a name of its own, and it keeps the master key. */
import { randomBytes, randomUUID } from "node:crypto"
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Config } from "./config.js"
import { takeLock } from "./files/process-lock.js"
import type { Folders } from "./pipeline/folders.js"
import { makeOwnFolder } from "./runtimes/own-folder.js"
import { type MasterKey, masterKey } from "./secrets/seal.js"

export class HomeInUse extends KnownError {
  readonly code = "home_in_use"
}

export class InvalidMasterKey extends KnownError {
  readonly code = "invalid_master_key"
}

/**
 * Makes the folders and takes the lock.
 * @returns the home's own id, by which a process recognises what a former one left
 * @throws HomeInUse      another control plane runs on it
 * @throws ForeignFolder  the folder for sockets is in the temporary folder, and somebody else made it
 */
export async function openHome(folders: Folders): Promise<string> {
  // Units of other users pass through these on the way to their own files; listing them is not for them.
  for (const folder of [folders.home, folders.artifacts, folders.units, folders.work, folders.cache]) {
    // A folder that was there has the permissions that somebody gave it.
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
  }
  await makeOwnFolder(folders.run, 0o711)
  const other = await takeLock(join(folders.home, "control.json"))
  if (other) {
    throw new HomeInUse(`process ${other.pid} already runs on ${folders.home}: stop it, or choose another with --home`)
  }
  // A process that was killed while git ran left a key there.
  await rm(folders.gitKeys, { recursive: true, force: true })
  return (await readOrMake(join(folders.home, "id"), () => randomUUID())).text
}

/**
 * The key that seals secrets: from the settings, else from a file of the home, which the first start makes.
 * @throws InvalidMasterKey
 */
export async function loadMasterKey(config: Config, folders: Folders, log: Log): Promise<MasterKey> {
  const given = config.masterKey?.reveal() ?? (config.masterKeyFile && (await readFile(config.masterKeyFile, "utf8")))
  if (given) return decode(given)
  const file = join(folders.home, "master.key")
  const { text, isNew } = await readOrMake(file, () => randomBytes(32).toString("base64"))
  if (isNew) log.warn({ file }, "made the key that seals secrets: keep a copy, without it they cannot be read")
  return decode(text)
}

function decode(text: string): MasterKey {
  const bytes = Buffer.from(text.trim(), "base64")
  if (bytes.length !== 32) {
    throw new InvalidMasterKey("the master key must be 32 bytes in base64: make one with openssl rand -base64 32")
  }
  return masterKey(bytes)
}

async function readOrMake(file: string, make: () => string): Promise<{ text: string; isNew: boolean }> {
  try {
    await writeFile(file, make(), { mode: 0o600, flag: "wx" })
    return { text: await readFile(file, "utf8"), isNew: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    return { text: await readFile(file, "utf8"), isNew: false }
  }
}
