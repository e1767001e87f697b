/**
 * The master key that encrypts secrets: where it is stored, and how it is changed. The database names its key
 * (`master_key`), and that name changes in one transaction with all encrypted values. So a kill at any moment leaves
 * `master.key`, `master.key.next` and a database that says which of the two is in use.
 */
import { randomBytes } from "node:crypto"
import { open, readFile, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Config } from "./config.js"
import type { Folders } from "./folders.js"
import { reseal } from "./secrets/reseal.js"
import { keyIdsInUse, nameFirstKey, sealingKeyId } from "./secrets/reseal-queries.js"
import { type MasterKey, masterKey } from "./secrets/seal.js"
import { sealedColumns } from "./secrets/sealed-columns.js"

export class InvalidMasterKey extends KnownError {
  readonly code = "invalid_master_key"
}

const keyFile = (folders: Folders): string => join(folders.home, "master.key")
const nextKeyFile = (folders: Folders): string => join(folders.home, "master.key.next")

/**
 * The master key: from the settings, else from a file of the home, which the first start creates. A key change that was
 * killed is finished or undone, according to the database.
 * @throws InvalidMasterKey  it is not a valid key, or not the key of the database
 */
export async function loadMasterKey(
  { config, folders, log }: { config: Config; folders: Folders; log: Log },
  db: Database,
): Promise<MasterKey> {
  const given = await givenKey(config)
  if (given) {
    await assertFits(db, given.key, given.setting)
    return given.key
  }
  const next = await readKey(nextKeyFile(folders))
  if (next && (await sealingKeyId(db)) === next.id) {
    await replaceFile(nextKeyFile(folders), keyFile(folders))
    log.info({ key_id: next.id }, "finished the change of the master key")
    return next
  }
  const key = (await readKey(keyFile(folders))) ?? (await makeFirstKey(db, folders, log))
  await assertFits(db, key, keyFile(folders))
  await rm(nextKeyFile(folders), { force: true })
  return key
}

async function givenKey({ masterKey, masterKeyFile }: Config) {
  if (masterKey) return { key: decode(masterKey.reveal()), setting: "SUPERSTEP_MASTER_KEY" }
  if (!masterKeyFile) return undefined
  return { key: decode(await readFile(masterKeyFile, "utf8")), setting: masterKeyFile }
}

/** Not for a database that has values already: a new key could not open them. */
async function makeFirstKey(db: Db, folders: Folders, log: Log): Promise<MasterKey> {
  const file = keyFile(folders)
  const wanted = await keyOfDatabase(db)
  if (wanted.length > 0) throw new InvalidMasterKey(`${file} is missing, ${wordsFor(wanted)}`)
  const key = await writeKey(file, randomBytes(32).toString("base64"))
  log.warn({ file }, "created the master key that encrypts secrets: keep a copy, without it they cannot be decrypted")
  return key
}

/** @param place  where the key comes from, for the error */
async function assertFits(db: Db, key: MasterKey, place: string): Promise<void> {
  const wanted = await keyOfDatabase(db)
  if (wanted.length > 0 && !wanted.includes(key.id)) {
    throw new InvalidMasterKey(`${place} is the master key ${key.id}, ${wordsFor(wanted)}`)
  }
  await nameFirstKey(db, key.id)
  const named = await sealingKeyId(db)
  if (named !== key.id) throw new InvalidMasterKey(`${place} is the master key ${key.id}, ${wordsFor([named ?? "?"])}`)
}

/** A database of an earlier release names no key: its values contain the id. */
async function keyOfDatabase(db: Db): Promise<string[]> {
  const named = await sealingKeyId(db)
  return named === undefined ? keyIdsInUse(db, sealedColumns) : [named]
}

const wordsFor = (wanted: readonly string[]): string =>
  `but the database is encrypted with ${wanted.join(", ")}: provide that key (SUPERSTEP_MASTER_KEY, or master.key in the data folder); backups contain it`

export interface Rotation {
  readonly from: string
  readonly to: string
  /** How many values were encrypted again. */
  readonly values: number
  /** What the settings must contain from now on, as a sentence; undefined when the file was replaced. */
  readonly toDo?: string
}

/**
 * Changes the master key. No process may use the database meanwhile, since it would keep using the former key.
 * @throws InvalidMasterKey  the present or the next key is not usable
 * @throws CannotReseal      some values cannot be opened with any key; nothing has changed
 */
export async function rotateMasterKey(
  input: { config: Config; folders: Folders; log: Log },
  db: Database,
): Promise<Rotation> {
  const { config, folders } = input
  const given = await givenKey(config)
  const asked = config.nextMasterKey?.reveal()
  if (given) {
    if (!asked) {
      const words = `the key comes from ${given.setting}: set the next key in SUPERSTEP_NEXT_MASTER_KEY (openssl rand -base64 32)`
      throw new InvalidMasterKey(words)
    }
    const next = decode(asked)
    const toDo = `set ${given.setting} to the value of SUPERSTEP_NEXT_MASTER_KEY before the next start`
    // The command was killed after the change, or is repeated.
    if ((await sealingKeyId(db)) === next.id) return { from: given.key.id, to: next.id, values: 0, toDo }
    const from = await loadMasterKey(input, db)
    return { from: from.id, to: next.id, values: await resealUnder(db, from, next), toDo }
  }
  // First, since it finishes a change that was killed; a key that the database names must not be overwritten.
  const from = await loadMasterKey(input, db)
  const next = await writeKey(nextKeyFile(folders), asked ?? randomBytes(32).toString("base64"))
  const values = await resealUnder(db, from, next)
  await replaceFile(nextKeyFile(folders), keyFile(folders))
  return { from: from.id, to: next.id, values }
}

async function resealUnder(db: Database, from: MasterKey, to: MasterKey): Promise<number> {
  if (from.id === to.id)
    throw new InvalidMasterKey(`the next master key is the same as the present one, ${from.id}: create another`)
  return reseal(db, { from, to })
}

function decode(text: string): MasterKey {
  const bytes = Buffer.from(text.trim(), "base64")
  if (bytes.length !== 32) {
    throw new InvalidMasterKey("the master key must be 32 bytes in base64: create one with openssl rand -base64 32")
  }
  return masterKey(bytes)
}

/**
 * @returns  undefined when there is no such file
 * @throws InvalidMasterKey  it contains no key
 */
export async function readKey(file: string): Promise<MasterKey | undefined> {
  try {
    return decode(await readFile(file, "utf8"))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    // A power failure during the write: nothing has been encrypted with it yet.
    if (error instanceof InvalidMasterKey && file.endsWith(".next")) return undefined
    throw error
  }
}

/** Writes the key atomically and to disk before anything is encrypted with it. */
async function writeKey(file: string, text: string): Promise<MasterKey> {
  const key = decode(text)
  const draft = `${file}.draft`
  await rm(draft, { force: true })
  {
    await using handle = await open(draft, "wx", 0o600)
    await handle.writeFile(text)
    await handle.sync()
  }
  await replaceFile(draft, file)
  return key
}

async function replaceFile(from: string, to: string): Promise<void> {
  await rename(from, to)
  await using folder = await open(dirname(to), "r")
  await folder.sync()
}
