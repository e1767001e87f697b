import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { CommandFailed } from "@superstep/toolkit/exec/run-command"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { readSourceSchemas, type SourceReading } from "./source-schemas.js"

/** A reading by a program of this text. */
function reading(program: string, change: Partial<SourceReading> = {}): SourceReading {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "artifact"))
  writeFileSync(join(folder, "artifact", "langgraph.json"), "{}")
  writeFileSync(join(folder, "analyse.mjs"), program)
  return {
    artifactFolder: join(folder, "artifact"),
    configPath: "langgraph.json",
    analyseEntry: join(folder, "analyse.mjs"),
    user: null,
    path: process.env.PATH ?? "",
    limitMs: 60_000,
    signal: new AbortController().signal,
    ...change,
  }
}

test("the reader gets the file's path, and nothing of our environment", async () => {
  const program = "console.log(JSON.stringify([process.argv.slice(2), Object.keys(process.env), process.cwd()]))"
  const given = reading(program)

  const [argv, names, cwd] = JSON.parse(await readSourceSchemas(given))

  assert.deepEqual(argv, ["--artifact", "--", join(given.artifactFolder, "langgraph.json")])
  const ours = names.filter((name: string) => !["PATH", "PWD", "SHLVL", "_", "OLDPWD"].includes(name))
  assert.deepEqual(ours, [])
  assert.equal(cwd, given.artifactFolder)
})

test("a reader that takes too long, writes a large file or is no longer wanted is killed", async () => {
  const endless = "setInterval(() => {}, 1000)"
  const stopping = new AbortController()
  const large = 'import { writeFileSync } from "node:fs"\nwriteFileSync("large", Buffer.alloc(4 * 2 ** 20))'
  const stopped = readSourceSchemas(reading(endless, { signal: stopping.signal }))
  stopping.abort()

  await assert.rejects(stopped)
  await assert.rejects(readSourceSchemas(reading(endless, { limitMs: 1 })), CommandFailed)
  await assert.rejects(readSourceSchemas(reading(large)), CommandFailed)
})
