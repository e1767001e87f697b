import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { howToCall } from "./how-to-call.js"

function file(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

test("a program that npx runs from a tarball is called by the tarball again", () => {
  const folder = temporaryFolder()
  const cache = join(folder, "cache/_npx/474980d5")
  const dependencies = (name: string) => JSON.stringify({ dependencies: { [name]: `file:../../../${name}-1.2.3.tgz` } })
  const script = (name: string) => join(cache, "node_modules/.bin", name)

  file(join(cache, "package.json"), dependencies("superstep"))
  const called = howToCall(folder, script("superstep"), "1.2.3")
  file(join(cache, "package.json"), dependencies("create-superstep"))
  const created = howToCall(folder, script("create-superstep"), "1.2.3")

  // That of `create-superstep` lies beside the other.
  for (const call of [called, created]) assert.equal(call, `npx --yes file:${join(folder, "superstep-1.2.3.tgz")}`)
})

test("a program that uvx runs from a wheel is called by the wheel again, and an installed wheel by its command", () => {
  const folder = temporaryFolder()
  const script = "site-packages/superstep/package/node_modules/superstep/bin/superstep.mjs"
  const notes = "archive-v0/x/lib/site-packages/superstep-1.2.3.dist-info/direct_url.json"
  file(join(folder, notes), JSON.stringify({ url: "file:///a/superstep-1.2.3-py3-none-any.whl" }))

  assert.equal(
    howToCall(folder, join(folder, "archive-v0/x/lib", script), "1.2.3"),
    "uvx --from /a/superstep-1.2.3-py3-none-any.whl superstep",
  )
  assert.equal(howToCall(folder, join(folder, "venv/lib", script), "1.2.3"), "superstep")
})

test("a program of a clone is called by its path, and where the package is installed npx calls it", () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "project"))

  const clone = howToCall(join(folder, "project"), join(folder, "clone/cli/bin/superstep.mjs"), "1.2.3")
  file(join(folder, "node_modules/.bin/superstep"), "")
  const installed = howToCall(join(folder, "project"), join(folder, "clone/cli/bin/superstep.mjs"), "1.2.3")

  assert.equal(clone, "node ../clone/cli/bin/superstep.mjs")
  assert.equal(installed, "npx --no -- superstep")
})

test("a path with spaces can be pasted, and what only creates projects is not called for anything else", () => {
  const folder = join(temporaryFolder(), "Ada's agents")
  const cache = join(folder, "cache/_npx/474980d5")
  const dependencies = { superstep: "file:../../../superstep-1.2.3.tgz" }
  file(join(cache, "package.json"), JSON.stringify({ dependencies }))

  const calls = [
    howToCall(join(folder, "a"), join(folder, "my clone/cli/bin/superstep.mjs"), "1.2.3"),
    howToCall(folder, join(cache, "node_modules/.bin/superstep"), "1.2.3"),
  ]
  const creator = join(folder, "tools/node_modules/create-superstep/bin/create-superstep.mjs")
  const created = howToCall(folder, creator, "1.2.3")

  for (const [index, path] of ["../my clone/cli/bin/superstep.mjs", `file:${folder}/superstep-1.2.3.tgz`].entries()) {
    const words = execFileSync("sh", ["-c", `printf '%s\\n' ${calls[index]}`], { encoding: "utf8" }).trim()
    assert.equal(words.split("\n").at(-1), path)
  }
  assert.equal(created, "npx --no -- superstep")
})
