import assert from "node:assert/strict"
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { route } from "@superstep/edge/testing/harness"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { certificateFiles } from "./certificate-files.js"

const [first, second] = ["1".repeat(64), "2".repeat(64)]
const tableWith = (...certificates: string[]) => ({
  generation: 1,
  routes: [
    route("chat", [], {
      host_names: certificates.map((certificate, n) => ({ name: `${n}.example.com`, certificate })),
    }),
  ],
})

test("each certificate of a table is written once, for the edge alone, and removed with it", async () => {
  const folder = temporaryFolder()
  const files = certificateFiles({ folder, reader: undefined, log: silent })
  const asked: string[] = []
  const pemOf = async (sha256: string) => {
    asked.push(sha256)
    return `pem of ${sha256}`
  }

  await files.addMissing(tableWith(first), pemOf)
  await files.addMissing(tableWith(first, second), pemOf)
  const written = readdirSync(folder).sort()
  const [name = ""] = written
  const { mode } = statSync(join(folder, name))
  const text = readFileSync(join(folder, name), "utf8")
  await files.removeOthers(tableWith(second))

  assert.deepEqual(asked, [first, second])
  assert.deepEqual(written, [`${first}.pem`, `${second}.pem`])
  assert.deepEqual([text, mode & 0o077], [`pem of ${first}`, 0])
  assert.deepEqual(readdirSync(folder), [`${second}.pem`])
})

test("a certificate that cannot be read stops neither the others nor the table", async () => {
  const folder = temporaryFolder()
  const files = certificateFiles({ folder, reader: undefined, log: silent })

  await files.addMissing(tableWith(first, second), async (sha256) => {
    if (sha256 === first) throw new Error("sealed with another master key")
    return "pem"
  })

  assert.deepEqual(readdirSync(folder), [`${second}.pem`])
})

test("a certificate that cannot be written, as on a full disk, does not stop the table", async () => {
  const folder = join(temporaryFolder(), "is", "missing")
  const files = certificateFiles({ folder, reader: undefined, log: silent })

  await files.addMissing(tableWith(first), async () => "pem")

  await files.addUnwritten()
  mkdirSync(folder, { recursive: true })
  await files.addUnwritten()
  assert.deepEqual(readdirSync(folder), [`${first}.pem`], "it is written when that is possible, without another table")
})
