import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"

test("a new project is complete, has its own name, and the next steps are printed", async () => {
  const cwd = temporaryFolder()

  const { code, stdout, stderr } = await runCli(["new", "my-agent"], { cwd })

  assert.equal(code, 0, stderr)
  const manifest = JSON.parse(readFileSync(join(cwd, "my-agent/package.json"), "utf8")) as Record<string, unknown>
  assert.equal(manifest.name, "my-agent")
  assert.deepEqual(manifest.superstep, { typecheck: true })
  assert.deepEqual([manifest.license, manifest.description], [undefined, undefined], "it is not our licence")
  const readme = readFileSync(join(cwd, "my-agent/README.md"), "utf8")
  const [, call = ""] = /^node (\S+main\.js) dev$/m.exec(readme) ?? []
  assert.match(readme, /^# my-agent$/m)
  assert.ok(existsSync(join(cwd, "my-agent", call)), readme)
  assert.ok(existsSync(join(cwd, "my-agent/langgraph.json")))
  assert.match(readFileSync(join(cwd, "my-agent/.gitignore"), "utf8"), /\.env/)
  assert.equal(existsSync(join(cwd, "my-agent/node_modules")), false)
  assert.match(stdout, /cd my-agent\n {2}npm install\n {2}node \S+main\.js dev\n$/)
})

test("a new project in Python is complete, and the next steps are printed", async () => {
  const cwd = temporaryFolder()

  const { code, stdout, stderr } = await runCli(["new", "my-agent", "--python"], { cwd })

  assert.equal(code, 0, stderr)
  const names = ["langgraph.json", "requirements.txt", "chat.py", "script.py", "scripted_model.py", ".gitignore"]
  for (const name of names) assert.ok(existsSync(join(cwd, "my-agent", name)), name)
  assert.equal(existsSync(join(cwd, "my-agent/package.json")), false)
  assert.match(stdout, /cd my-agent\n {2}node \S+main\.js dev\n$/)
})

// langgraph-cli of PyPI takes a bare major version there and nothing else, where langgraph.json names a Node as well.
test("a new project requests its Node only in langgraph.json, so that every CLI deploys it", async () => {
  const cwd = temporaryFolder()
  await runCli(["new", "my-agent"], { cwd })
  const read = (name: string) => JSON.parse(readFileSync(join(cwd, "my-agent", name), "utf8"))

  assert.equal(read("package.json").engines, undefined)
  assert.match(read("langgraph.json").node_version, /^\d+$/)
})

test("an empty folder may be used, a non-empty one may not", async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, "empty"))
  mkdirSync(join(cwd, "full"))
  writeFileSync(join(cwd, "full/notes.txt"), "mine")

  const empty = await runCli(["new", "empty"], { cwd })
  const full = await runCli(["new", "full"], { cwd })

  assert.equal(empty.code, 0, empty.stderr)
  assert.equal(full.code, 1)
  assert.match(full.stderr, /full is not empty: choose another name/)
  assert.equal(readFileSync(join(cwd, "full/notes.txt"), "utf8"), "mine")
})

test("a name that npm does not accept is refused before anything is created", async () => {
  const cwd = temporaryFolder()

  for (const name of ["My Agent", "-x", "ünï", "a".repeat(65)]) {
    const { code, stderr } = await runCli(["new", "--", name], { cwd })

    assert.equal(code, 1)
    assert.match(stderr, /is not a valid project name/)
    assert.equal(existsSync(join(cwd, name)), false)
  }
})
