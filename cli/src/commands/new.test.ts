import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { mainScript, runCli, startProgram } from "../testing/run-cli.js"

test("a new project is complete, has its own name, and the next steps are printed", async () => {
  const cwd = temporaryFolder()

  const { code, stdout, stderr } = await runCli(["new", "my-agent"], { cwd })

  assert.equal(code, 0, stderr)
  const manifest = JSON.parse(readFileSync(join(cwd, "my-agent/package.json"), "utf8")) as Record<string, unknown>
  assert.equal(manifest.name, "my-agent")
  assert.deepEqual(manifest.superstep, { typecheck: true })
  // Without a request for a Node it gets the newest, and every CLI deploys it.
  assert.equal(manifest.engines, undefined)
  assert.doesNotMatch(readFileSync(join(cwd, "my-agent/langgraph.json"), "utf8"), /node_version/)
  assert.match((manifest.scripts as { dev: string }).dev, /^node \S+main\.js dev$/)
  assert.deepEqual([manifest.license, manifest.description], [undefined, undefined], "it is not our licence")
  const lock = JSON.parse(readFileSync(join(cwd, "my-agent/package-lock.json"), "utf8"))
  const { name, license, dependencies } = lock.packages[""]
  assert.deepEqual([lock.name, name, license, dependencies], ["my-agent", "my-agent", undefined, manifest.dependencies])
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

test("without a name and without a terminal nothing is asked: the project is my-agent, in TypeScript", async () => {
  const cwd = temporaryFolder()

  const { code, stderr } = await runCli(["new"], { cwd })

  assert.equal(code, 0, stderr)
  assert.ok(existsSync(join(cwd, "my-agent/package.json")))
})

test("npm create's program creates the same project, and refuses two languages", async () => {
  const cwd = temporaryFolder()
  const run = (name: string, ...args: string[]) =>
    startProgram([process.execPath, fileURLToPath(import.meta.resolve(name)), ...args], { cwd, env: process.env }).ended

  const created = await run("superstep/create-main", "one", "--python")
  const both = await run("superstep/create-main", "two", "--python", "--typescript")
  await run("superstep/main", "new", "--python", "two")

  assert.equal(created.code, 0, created.stderr)
  assert.match(created.stdout, /cd one\n {2}node \S+ dev\n$/)
  assert.deepEqual(readdirSync(join(cwd, "one")), readdirSync(join(cwd, "two")))
  assert.match(both.stderr, /'--typescript' cannot be used with option '--python'|'--python' cannot be used with/)
})

test("on a terminal the name and the language are asked, and the end of the input creates nothing", {
  skip: process.platform !== "linux" && "the command `script` has other options here",
}, async () => {
  const answer = async (...answers: string[]) => {
    const cwd = temporaryFolder()
    const terminal = spawn("script", ["-qec", `${process.execPath} ${mainScript} new`, "/dev/null"], { cwd })
    let [output, given] = ["", 0]
    terminal.stdout.setEncoding("utf8").on("data", (words: string) => {
      output += words
      const asked = output.match(/\((?:my-agent|TypeScript)\)/g)?.length ?? 0
      if (asked > given) terminal.stdin.write(answers[given++] ?? "")
    })
    await once(terminal, "close")
    return { files: readdirSync(cwd, { recursive: true, encoding: "utf8" }), output }
  }

  const [named, standard, ended] = await Promise.all([
    answer("other\n", "Python\n"),
    answer("\n", "\n"),
    answer("\u0004"),
  ])

  assert.ok(named.files.includes("other/chat.py"), named.output)
  assert.ok(standard.files.includes("my-agent/package.json"), standard.output)
  assert.deepEqual(ended.files, [])
  assert.match(ended.output, /nothing was done/)
})
