/** Creates a cluster if there is none. A kill at any moment leaves no cluster or a complete one. */
import { randomBytes } from "node:crypto"
import { chown, link, lstat, mkdtemp, open, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"
import { CommandFailed, runCommand } from "../exec/run-command.js"
import type { OsUser } from "../exec/spawn-detached.js"
import { NoEmbeddedPostgres } from "./binaries.js"

export class PasswordLost extends KnownError {
  readonly code = "postgres_password_lost"
}

// A role other than the superuser may connect only to the database of its own name (`db/provision.ts` creates such pairs), so
// an agent cannot access another agent's database, whatever is granted there.
const whoMayConnect = `# type database user method
local all postgres scram-sha-256
local sameuser all scram-sha-256
`

/**
 * @param folder  the cluster's folder; its `data` is created if it is missing
 * @returns       the superuser's password; the file `password` in the folder stores it for the next start
 * @throws PasswordLost  there is a cluster, but the file with its password is missing
 */
export async function ensureCluster(folder: string, bin: string, user: OsUser | undefined): Promise<string> {
  const data = join(folder, "data")
  const isThere = (await lstat(data).catch(ifCode(missing))) !== undefined
  const password = await ensurePassword(join(folder, "password"), isThere)
  if (!isThere) await initialize(folder, bin, user, password)
  return password
}

/** Two processes may start at the same time: each writes a draft, and the first rename decides for both. */
async function ensurePassword(file: string, clusterExists: boolean): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  if (!(await lstat(file).catch(ifCode(missing)))) {
    if (clusterExists)
      throw new PasswordLost(`${file} is missing: restore it, or remove the folder to start with an empty cluster`)
    await writeFile(draft, randomBytes(24).toString("base64url"), { mode: 0o600, flush: true })
    await link(draft, file).catch(ifCode(alreadyThere))
    await rm(draft)
  }
  return readFile(file, "utf8")
}

async function initialize(folder: string, bin: string, user: OsUser | undefined, password: string): Promise<void> {
  const draft = await mkdtemp(join(folder, "data."))
  const passwordFile = `${draft}.password`
  try {
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (user) for (const path of [draft, passwordFile]) await chown(path, user.uid, user.gid)
    await initdb({ data: draft, bin, user, passwordFile })
    await writeFile(join(draft, "pg_hba.conf"), whoMayConnect)
    // It fails when another process was faster; then that one's cluster is used.
    await rename(draft, join(folder, "data")).catch(ifCode(alreadyThere))
    await using directory = await open(folder)
    await directory.sync()
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

async function initdb({
  data,
  bin,
  user,
  passwordFile,
}: {
  data: string
  bin: string
  user: OsUser | undefined
  passwordFile: string
}): Promise<void> {
  const argv = [
    join(bin, "initdb"),
    `--pgdata=${data}`,
    "--username=postgres",
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--encoding=UTF8",
    // Texts are compared byte by byte, and upper case works for all languages, identically on every system.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    // Without `--no-sync`: Postgres later syncs only the files that it changes, so after a power failure the first commits
    // could exist without the files that they depend on. The sync takes a tenth of a second.
  ] as const
  try {
    await runCommand({
      argv,
      cwd: data,
      env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" },
      user,
      timeoutMs: 120_000,
    })
  } catch (cause) {
    // The file exists, and yet the error is ENOENT: the system lacks the loader that the file names.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") {
      throw new NoEmbeddedPostgres("the embedded Postgres requires glibc, which this system does not have", { cause })
    }
    const reason = cause instanceof CommandFailed ? cause.lastLines : String(cause)
    throw new NoEmbeddedPostgres(`the embedded Postgres cannot be initialized (${reason})`, { cause })
  }
}

const alreadyThere = ["EEXIST", "ENOTEMPTY"]
