/** Makes a cluster where there is none. A kill at any moment leaves either none or a whole one. */
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

// A role other than the superuser's reaches only the database of its own name (`db/provision.ts` makes such pairs), so
// an agent cannot look into another one's, whatever is granted there.
const whoMayConnect = `# type database user method
local all postgres scram-sha-256
local sameuser all scram-sha-256
`

/**
 * @param folder  the cluster's folder; its `data` is made if it is missing
 * @returns       the superuser's password, which `password` in the folder keeps for the next start
 * @throws PasswordLost  when there is a cluster, but its password is gone
 */
export async function ensureCluster(folder: string, bin: string, user: OsUser | undefined): Promise<string> {
  const data = join(folder, "data")
  const isThere = (await lstat(data).catch(ifCode(missing))) !== undefined
  const password = await ensurePassword(join(folder, "password"), isThere)
  if (!isThere) await initialize(folder, bin, user, password)
  return password
}

/** Two processes may start at once: each writes a draft, the first to give it the name decides for both. */
async function ensurePassword(file: string, clusterExists: boolean): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  if (!(await lstat(file).catch(ifCode(missing)))) {
    if (clusterExists) throw new PasswordLost(`${file} is missing: put it back, or remove the folder to begin anew`)
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
    // It fails when another process was quicker; then its cluster is the one.
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
    // Texts compare byte by byte and letters of every language have their upper case, on every system alike.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    // Without `--no-sync`: Postgres later syncs only what it changes, so after a power failure the first commits would be
    // there and the files below them not. It costs a tenth of a second.
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
    // The file is there, yet the system does not find it: what it misses is the loader that the file names.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") {
      throw new NoEmbeddedPostgres("the Postgres that npm carries needs glibc, which this system lacks", { cause })
    }
    const reason = cause instanceof CommandFailed ? cause.lastLines : String(cause)
    throw new NoEmbeddedPostgres(`the embedded Postgres cannot be set up (${reason})`, { cause })
  }
}

const alreadyThere = ["EEXIST", "ENOTEMPTY"]
