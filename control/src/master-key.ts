/**
 * The master key that encrypts secrets: where it is stored, and how it is changed. The database names its key
 * (`master_key`), and that name changes in one transaction with all encrypted values. So a kill at any moment leaves
 * `master.key`, `master.key.next` and a database that says which of the two is in use.
 */
import { randomBytes } from "node:crypto"
import type { KeyFiles } from "@superstep/machines/port/host"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Config } from "./config.js"
import type { Folders } from "./home/folders.js"
import { keyFilesIn, keyPath } from "./home/key-files.js"
import { reseal } from "./secrets/reseal.js"
import { keyIdsInUse, nameFirstKey, sealingKeyId } from "./secrets/reseal-queries.js"
import { type MasterKey, masterKey } from "./secrets/seal.js"
import { sealedColumns } from "./secrets/sealed-columns.js"

export class InvalidMasterKey extends KnownError {
  readonly code = "invalid_master_key"
}

export interface MasterKeyInput {
  readonly config: Config
  readonly folders: Folders
  readonly log: Log
  /** Default: read here. */
  readonly keyFiles?: KeyFiles
}

/**
 * The master key: from the settings, else from a file of the home, which the first start creates. A key change that was
 * killed is finished or undone, according to the database.
 * @throws InvalidMasterKey  it is not a valid key, or not the key of the database
 */
export async function loadMasterKey(
  { config, folders, log, keyFiles = ownKeyFiles({ config, folders }) }: MasterKeyInput,
  db: Database,
): Promise<MasterKey> {
  const given = await givenKey(config, keyFiles)
  if (given) {
    await assertFits(db, given.key, given.setting)
    return given.key
  }
  const next = nextKeyOf(await keyFiles.read("next"))
  if (next && (await sealingKeyId(db)) === next.id) {
    await keyFiles.promoteNext()
    log.info({ key_id: next.id }, "finished the change of the master key")
    return next
  }
  const present = await keyFiles.read("present")
  const file = keyPath(folders.home)
  const key = present === undefined ? await makeFirstKey(db, { file, keyFiles, log }) : decode(present)
  await assertFits(db, key, file)
  await keyFiles.removeNext()
  return key
}

const ownKeyFiles = ({ config, folders }: Pick<MasterKeyInput, "config" | "folders">) =>
  keyFilesIn(folders.home, config.masterKeyFile)

async function givenKey({ masterKey, masterKeyFile }: Config, keyFiles: KeyFiles) {
  if (masterKey) return { key: decode(masterKey.reveal()), setting: "SUPERSTEP_MASTER_KEY" }
  if (!masterKeyFile) return undefined
  return { key: decode((await keyFiles.read("operator")) ?? ""), setting: masterKeyFile }
}

/** Not for a database that has values already: a new key could not open them. */
async function makeFirstKey(
  db: Db,
  { file, keyFiles, log }: { readonly file: string; readonly keyFiles: KeyFiles; readonly log: Log },
): Promise<MasterKey> {
  const wanted = await keyOfDatabase(db)
  if (wanted.length > 0) throw new InvalidMasterKey(`${file} is missing, ${wordsFor(wanted)}`)
  const text = randomBytes(32).toString("base64")
  await keyFiles.writeFirst(text)
  log.warn({ file }, "created the master key that encrypts secrets: keep a copy, without it they cannot be decrypted")
  return decode(text)
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
export async function rotateMasterKey(input: Omit<MasterKeyInput, "keyFiles">, db: Database): Promise<Rotation> {
  const { config } = input
  const keyFiles = ownKeyFiles(input)
  const given = await givenKey(config, keyFiles)
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
  const text = asked ?? randomBytes(32).toString("base64")
  const next = decode(text)
  await keyFiles.writeNext(text)
  const values = await resealUnder(db, from, next)
  await keyFiles.promoteNext()
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
 * The keys in a data folder, such as one in a backup: the present one, and the next one of a change that was interrupted.
 * @throws InvalidMasterKey  a file contains no key
 */
export async function keysIn(home: string): Promise<MasterKey[]> {
  const files = keyFilesIn(home, undefined)
  const present = await files.read("present")
  const keys = [present === undefined ? undefined : decode(present), nextKeyOf(await files.read("next"))]
  return keys.filter((it) => it !== undefined)
}

/** After a power failure during the write it may be no key: nothing has been encrypted with it yet. */
function nextKeyOf(text: string | undefined): MasterKey | undefined {
  try {
    return text === undefined ? undefined : decode(text)
  } catch (error) {
    if (error instanceof InvalidMasterKey) return undefined
    throw error
  }
}
