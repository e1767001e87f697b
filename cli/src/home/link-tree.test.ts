import assert from "node:assert/strict"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { rename } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { list } from "tar"
import { backUp } from "./archive.js"
import { openHome } from "./home.js"
import { linkArtifacts, linkTree } from "./link-tree.js"

const filesOfOne = 10

function addArtifacts(folder: string, count: number): string[] {
  const names = Array.from({ length: count }, (_, n) => `artifact-${n}`)
  for (const name of names) {
    mkdirSync(join(folder, name, "src"), { recursive: true })
    for (let n = 0; n < filesOfOne; n++) writeFileSync(join(folder, name, "src", `${n}.ts`), `export const n = ${n}`)
  }
  return names
}

// One that is being removed has such a name, belongs to nothing, and may be incomplete.
const leaving = ".leaving"

/** As the platform does: it is moved away first. */
async function remove(artifact: string): Promise<void> {
  await rename(artifact, `${artifact}${leaving}`)
  await removeTree(`${artifact}${leaving}`)
}

test("a backup is complete when artifacts are removed while it is packed, and has all of an artifact or nothing", async (t) => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const artifacts = join(home.folder, "artifacts")
  const [kept, ...removed] = addArtifacts(artifacts, 100)
  const file = join(temporaryFolder(), "backup.tar.gz")
  const postgres = await startPostgres({ folder: home.postgres, log: silent })
  t.after(postgres.stop)
  let removal = Promise.resolve()
  const step = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const done = work()
    if (name.startsWith("packing")) {
      removal = (async () => {
        for (const artifact of removed) await remove(join(artifacts, artifact))
      })()
    }
    return done
  }

  await backUp({ home, superuserUri: postgres.superuserUri, file, step })
  await removal

  assert.deepEqual(readdirSync(artifacts), [kept])
  const counts = new Map<string, number>()
  const count = ({ path }: { path: string }) => {
    const [top, artifact = ""] = path.split("/")
    if (top === "artifacts" && path.endsWith(".ts")) counts.set(artifact, (counts.get(artifact) ?? 0) + 1)
  }
  await list({ file, onReadEntry: count })
  assert.equal(counts.get(kept ?? ""), filesOfOne)
  assert.deepEqual([...new Set(counts.values())], [filesOfOne])
  assert.deepEqual(
    readdirSync(home.folder).filter((name) => name.startsWith("backing-up")),
    [],
  )
})

test("a linked tree has the files, links and rights of the first one, and keeps them when that is removed", async () => {
  const folder = temporaryFolder()
  const [from, to] = [join(folder, "from"), join(folder, "to")]
  mkdirSync(join(from, "src"), { recursive: true })
  writeFileSync(join(from, "src/graph.ts"), "graph")
  symlinkSync("nowhere", join(from, "link"))
  chmodSync(join(from, "src"), 0o550)

  await linkTree(from, to)
  await linkTree(join(folder, "missing"), join(folder, "nothing"))
  await removeTree(from)

  assert.equal(readFileSync(join(to, "src/graph.ts"), "utf8"), "graph")
  assert.equal(readlinkSync(join(to, "link")), "nowhere")
  assert.equal(statSync(join(to, "src")).mode & 0o777, 0o550)
  assert.equal(existsSync(join(folder, "nothing")), false)
})

test("an artifact that is removed while it is linked is left out", async () => {
  const folder = temporaryFolder()
  const [from, to] = [join(folder, "artifacts"), join(folder, "linked")]
  addArtifacts(from, 50)
  const linking = linkArtifacts(from, to)
  for (const name of readdirSync(from)) await remove(join(from, name))
  await linking

  for (const name of readdirSync(to)) assert.equal(readdirSync(join(to, name, "src")).length, filesOfOne, name)
})
