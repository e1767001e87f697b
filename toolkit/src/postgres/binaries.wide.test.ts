import assert from "node:assert/strict"
import { chmod, cp, lstat, mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { runCommand } from "../exec/run-command.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { installedPackage, postgresBinaries, removeFormerBinaries } from "./binaries.js"
import { postgresUser } from "./postgres-user.js"

/** The package as npm unpacks it, without the links that its install script makes. */
async function packageWithoutLinks() {
  const root = join(temporaryFolder(), "package")
  const { root: installed, version } = installedPackage()
  await cp(installed, root, { recursive: true, filter: async (path) => !(await lstat(path)).isSymbolicLink() })
  return { root, version }
}

async function versionOf(bin: string): Promise<string> {
  const argv = [join(bin, "postgres"), "--version"] as const
  const { stdout } = await runCommand({ argv, cwd: "/", env: {}, user: postgresUser(), timeoutMs: 60_000 })
  return stdout
}

test("programs run in place after their links are restored", async () => {
  const bare = await packageWithoutLinks()

  const bin = await postgresBinaries(temporaryFolder(), postgresUser(), { installed: bare })

  assert.equal(bin, join(bare.root, "native", "bin"))
  assert.match(await versionOf(bin), /postgres \(PostgreSQL\) 18/)
})

test("as root, programs below a closed folder are copied, once", {
  skip: process.getuid?.() !== 0 && "only root runs Postgres as somebody else",
}, async () => {
  const closed = await packageWithoutLinks()
  await chmod(closed.root, 0o700)
  const folder = temporaryFolder()

  const bins = await Promise.all([1, 2].map(() => postgresBinaries(folder, postgresUser(), { installed: closed })))

  assert.equal(new Set(bins).size, 1)
  assert.match(await versionOf(bins[0] ?? ""), /postgres \(PostgreSQL\) 18/)
  assert.deepEqual(await readdir(folder), [`postgres-${closed.version}`])
})

test("kept programs run after the package is removed, until those of another version replace them", async () => {
  const installed = await packageWithoutLinks()
  const folder = temporaryFolder()
  await mkdir(join(folder, "postgres-17.1.0"))

  const bin = await postgresBinaries(folder, postgresUser(), { isKept: true, installed })
  await rm(installed.root, { recursive: true })
  await removeFormerBinaries(folder, installed)

  assert.match(await versionOf(bin), /postgres \(PostgreSQL\) 18/)
  assert.deepEqual(await readdir(folder), [`postgres-${installed.version}`])
})
