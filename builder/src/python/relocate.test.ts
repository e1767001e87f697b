import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { closeTree } from "@superstep/toolkit/files/own-tree"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { installedPythons } from "./pythons.js"
import { relocate } from "./relocate.js"

const [python] = await installedPythons({ PATH: process.env.PATH }).found(undefined)
const skip = python ? false : "this machine has no Python"

test("an environment works where its tree is moved to: its programs, and packages of the tree", { skip }, async () => {
  const home = temporaryFolder()
  const [tree, place] = [join(home, "tree"), join(home, "artifact")]
  const venv = join(tree, "agent", ".venv")
  mkdirSync(join(tree, "agent", "src"), { recursive: true })
  writeFileSync(join(tree, "agent", "src", "own_package.py"), "word = 'hello'\n")
  execFileSync(python?.path ?? "", ["-m", "venv", "--without-pip", venv])
  // What an installer leaves of a package that it installs editable, and of a program.
  const [version = ""] = readdirSync(join(venv, "lib"))
  writeFileSync(join(venv, "lib", version, "site-packages", "own.pth"), `${join(tree, "agent", "src")}\n`)
  const program = join(venv, "bin", "tool")
  writeFileSync(program, `#!${join(venv, "bin", "python")}\nimport own_package\nprint(own_package.word)\n`, {
    mode: 0o755,
  })
  closeTree(tree, null)

  await relocate("agent/.venv", { from: tree, to: place })
  await relocate("no/.venv", { from: tree, to: place })
  renameSync(tree, place)

  assert.equal(execFileSync(join(place, "agent", ".venv", "bin", "tool"), { encoding: "utf8" }), "hello\n")
})

test("no link that leads out of the tree is followed, wherever it is on the way to a file", async () => {
  const home = temporaryFolder()
  const [tree, outside] = [join(home, "tree"), join(home, "outside")]
  const text = `path ${tree}\n`
  mkdirSync(join(outside, "site-packages"), { recursive: true })
  for (const name of ["file", "direct_url.json", "site-packages/a.pth", "pyvenv.cfg"])
    writeFileSync(join(outside, name), text)
  const environment = (name: string) => {
    mkdirSync(join(tree, name, ".venv", "bin"), { recursive: true })
    mkdirSync(join(tree, name, ".venv", "lib", "python3.12", "site-packages"), { recursive: true })
    return join(tree, name, ".venv")
  }
  symlinkSync(join(outside, "file"), join(environment("program"), "bin", "tool"))
  symlinkSync(outside, join(environment("library"), "lib", "python3.13"))
  symlinkSync(outside, join(environment("package"), "lib", "python3.12", "site-packages", "a.dist-info"))
  symlinkSync(outside, join(tree, ".venv"))
  writeFileSync(join(environment("kept"), "bin", "tool"), text)
  closeTree(tree, null)

  const names = ["program", "library", "package", "kept"].map((name) => `${name}/.venv`)
  for (const folder of [...names, ".venv"]) await relocate(folder, { from: tree, to: "/new" })

  for (const name of ["file", "direct_url.json", "site-packages/a.pth", "pyvenv.cfg"])
    assert.equal(readFileSync(join(outside, name), "utf8"), text, name)
  assert.equal(readFileSync(join(tree, "kept/.venv/bin/tool"), "utf8"), "path /new\n")
})
