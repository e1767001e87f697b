import assert from "node:assert/strict"
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { create, list } from "tar"
import { backUp, NoBackup, packFolders, removeKilledBackup, restore, unpack, verify } from "./archive.js"
import { HomeHalfRestored, homeAt, openHome } from "./home.js"
import { AlreadyRunning, takeOwnership } from "./owner.js"

test("files with hard links outside the folder are packed completely", async () => {
  const folder = temporaryFolder()
  for (const name of ["artifacts", "cache"]) mkdirSync(join(folder, name))
  for (let index = 0; index < 200; index++) {
    const name = `f${String(index).padStart(3, "0")}`
    writeFileSync(join(folder, "artifacts", name), name)
    // Linked and plain ones by turns, as an artifact's own code and its packages are.
    if (index % 9 < 5) linkSync(join(folder, "artifacts", name), join(folder, "cache", name))
  }
  const file = join(folder, "backup.tar.gz")

  await packFolders({ folder, names: ["artifacts"], file })

  const packed: string[] = []
  await list({ file, onReadEntry: ({ path }) => packed.push(path) })
  assert.equal(packed.filter((path) => /\/f\d+$/.test(path)).length, 200)
})

test("links that leave the folder are restored as they were, and nothing is written through one", async () => {
  const [folder, outside, to] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  mkdirSync(join(folder, "artifacts"))
  symlinkSync(outside, join(folder, "artifacts/absolute"))
  symlinkSync("../../../elsewhere", join(folder, "artifacts/relative"))
  symlinkSync("absolute", join(folder, "artifacts/within"))
  const [whole, hostile] = [join(folder, "whole.tar.gz"), join(folder, "hostile.tar.gz")]
  await packFolders({ folder, names: ["artifacts"], file: whole })
  // A folder by the first name, whose file would be written through the link.
  await create({ cwd: folder, file: hostile, gzip: true, prefix: "artifacts/absolute" }, ["whole.tar.gz"])

  unpack({ file: whole, to, wants: () => true })

  const links = ["absolute", "relative", "within"].map((name) => readlinkSync(join(to, "artifacts", name)))
  assert.deepEqual(links, [outside, "../../../elsewhere", "absolute"])
  assert.throws(() => unpack({ file: hostile, to, wants: () => true }), NoBackup)
  assert.deepEqual(readdirSync(outside), [])
})

test("a truncated backup restores nothing and leaves nothing", async () => {
  const folder = temporaryFolder()
  for (let index = 0; index < 2000; index++) {
    const inside = join(folder, "artifacts", String(index), "src")
    mkdirSync(inside, { recursive: true })
    writeFileSync(join(inside, "graph.ts"), "export const graph = 1")
  }
  const [whole, file] = [join(folder, "whole.tar.gz"), join(folder, "cut.tar.gz")]
  await packFolders({ folder, names: ["artifacts"], file: whole })
  // In the last bytes, so that files are under way when it is noticed.
  writeFileSync(file, readFileSync(whole).subarray(0, -20))
  const parent = temporaryFolder()

  await assert.rejects(restore({ home: homeAt(join(parent, "home")), file }), (error: Error) => {
    return error instanceof NoBackup && /cut\.tar\.gz cannot be restored: .*unexpected end of file/.test(error.message)
  })

  assert.deepEqual(readdirSync(parent), [])
})

test("a backup is restored into an empty folder that cannot be replaced, also again after a kill", async () => {
  const file = await smallBackup()
  // As a mount point, which has a folder of its file system.
  const mounted = temporaryFolder()
  mkdirSync(join(mounted, "lost+found"))
  mkdirSync(join(mounted, "restoring.files", "artifacts"), { recursive: true })
  const { ino } = statSync(mounted)
  await assert.rejects(openHome(mounted), HomeHalfRestored)

  assert.deepEqual(await restore({ home: homeAt(mounted), file }), { isCompletion: false })

  assert.equal(statSync(mounted).ino, ino)
  assert.deepEqual(readdirSync(mounted).sort(), [
    "artifacts",
    "credentials.json",
    "lost+found",
    "postgres",
    "restored-from",
  ])
  assert.equal(readFileSync(join(mounted, "postgres", "data", "PG_VERSION"), "utf8"), "postgres-backup/data/PG_VERSION")
  await openHome(mounted)
})

test("a restore that was killed between two moves is completed by the next one, without the backup", async () => {
  const file = await smallBackup()
  const whole = temporaryFolder()
  await restore({ home: homeAt(whole), file })
  const names = readdirSync(whole).sort((one) => (one === "credentials.json" ? 1 : -1))
  const content = contentOf(whole)

  for (let moved = 0; moved <= names.length; moved++) {
    const folder = temporaryFolder()
    const home = homeAt(folder)
    await restore({ home, file })
    mkdirSync(home.restored)
    for (const name of names.slice(moved)) renameSync(join(folder, name), join(home.restored, name))
    await assert.rejects(openHome(folder), HomeHalfRestored)

    const restored = await restore({ home, file: join(folder, "missing.tar.gz") })

    assert.deepEqual(restored, { isCompletion: true })
    assert.deepEqual(contentOf(folder), content)
    await openHome(folder)
  }
})

test("a restore whose move fails says so, and is completed when the obstacle is gone", async () => {
  const file = await smallBackup({ extra: "lost+found" })
  const home = homeAt(temporaryFolder())
  const obstacle = join(home.folder, "lost+found", "obstacle")
  mkdirSync(obstacle, { recursive: true })

  await assert.rejects(restore({ home, file }), (error: Error) => {
    return error instanceof NoBackup && /ENOTEMPTY.*: run superstep restore again to complete it/.test(error.message)
  })
  await assert.rejects(openHome(home.folder), HomeHalfRestored)
  rmSync(obstacle, { recursive: true })
  await restore({ home, file })

  assert.deepEqual(readdirSync(join(home.folder, "lost+found")), ["inside"])
  assert.ok(existsSync(home.credentials))
  await openHome(home.folder)
})

/** The smallest that a restore takes. */
async function smallBackup({ extra = "artifacts" } = {}): Promise<string> {
  const folder = temporaryFolder()
  const cluster = join(folder, "postgres-backup")
  for (const path of [join(cluster, "data"), join(folder, extra)]) mkdirSync(path, { recursive: true })
  writeFileSync(join(cluster, "backup.json"), JSON.stringify({ format: 1 }))
  const inCluster = ["postgres-backup/password", "postgres-backup/data/PG_VERSION"]
  for (const path of ["id", "credentials.json", `${extra}/inside`, ...inCluster])
    writeFileSync(join(folder, path), path)
  const file = join(folder, "backup.tar.gz")
  await packFolders({ folder, names: ["postgres-backup", "credentials.json", "id", extra], file })
  return file
}

/** Each file below a folder with its text. */
const contentOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => `${path}: ${readFileSync(join(folder, path), "utf8")}`)
    .sort()

test("a backup into a missing folder, or while another one runs, is an error and leaves nothing", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const folder = temporaryFolder()
  const nowhere = { home, superuserUri: "postgres://nobody@127.0.0.1:1/none" }
  await assert.rejects(backUp({ ...nowhere, file: join(folder, "missing", "backup.tar.gz") }), NoBackup)
  const first = { ...home, owner: join(home.folder, "backing-up.json") }
  const ownership = await takeOwnership(first, "superstep backup")

  await assert.rejects(backUp({ ...nowhere, file: join(folder, "backup.tar.gz") }), AlreadyRunning)
  await ownership[Symbol.asyncDispose]()

  assert.equal(existsSync(join(folder, "backup.tar.gz")), false)
})

test("leftovers of a killed backup are removed by the next start or backup, but not while one runs", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const folder = temporaryFolder()
  const [staging, draft] = [join(home.folder, "backing-up.files"), join(folder, "first.tar.gz.partial")]
  const lock = join(home.folder, "backing-up.json")
  const leave = () => {
    mkdirSync(staging)
    writeFileSync(join(staging, "base.tar"), "half")
    writeFileSync(draft, "half")
    writeFileSync(join(home.folder, "backing-up.draft"), draft)
    // Its process is another one by now.
    writeFileSync(lock, JSON.stringify({ command: "superstep backup", owner: { pid: process.pid, startTicks: 1 } }))
  }
  const left = () => [staging, draft, lock, join(home.folder, "backing-up.draft")].filter((path) => existsSync(path))

  leave()
  await removeKilledBackup(home)
  assert.deepEqual(left(), [], "by a start")
  leave()
  const other = { home, superuserUri: "postgres://nobody@127.0.0.1:1/none", file: join(folder, "second.tar.gz") }
  await assert.rejects(backUp(other))
  assert.deepEqual(left(), [], "by a backup, under whatever name")

  leave()
  writeFileSync(lock, JSON.stringify({ command: "superstep backup", owner: await identify(process.pid) }))
  await removeKilledBackup(home)
  assert.equal(left().length, 4)
})

test("a backup that lacks a part, or has a changed byte, is found when it is read back", async () => {
  const folder = temporaryFolder()
  const cluster = join(folder, "postgres-backup")
  mkdirSync(join(cluster, "data", "global"), { recursive: true })
  for (const name of ["backup.json", "password", "data/PG_VERSION", "data/global/pg_control"])
    writeFileSync(join(cluster, name), name.repeat(1000))
  const [lacking, whole, changed] = ["lacking", "whole", "changed"].map((name) => join(folder, `${name}.tar.gz`)) as [
    string,
    string,
    string,
  ]
  await packFolders({ folder, names: ["postgres-backup"], file: lacking })
  writeFileSync(join(cluster, "data", "backup_label"), "label")
  await packFolders({ folder, names: ["postgres-backup"], file: whole })
  const bytes = readFileSync(whole)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 0xff
  writeFileSync(changed, bytes)

  await verify(whole)
  await assert.rejects(verify(lacking), /the backup lacks data\/backup_label/)
  await assert.rejects(verify(changed), NoBackup)
})
