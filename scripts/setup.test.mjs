import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { commandStep, missingPackages, nodeProblem, npmArguments, showProgress, soleSetup } from "./setup.mjs"

test("an old Node is told which one is needed, and how to get it", () => {
  assert.equal(nodeProblem("20.19.0", ">=20.19"), undefined)
  assert.equal(nodeProblem("22.1.0", ">=20.19"), undefined)
  assert.match(nodeProblem("20.18.3", ">=20.19") ?? "", /requires Node 20\.19 or newer, and this is 20\.18\.3: run npx/)
  assert.match(nodeProblem("18.20.4", ">=20.19") ?? "", /20\.19/)
})

test("a package is missing when it is absent or of another version, and not when it is for another platform", () => {
  const lock = {
    packages: {
      "": { version: "1.0.0" },
      server: { version: "1.0.0" },
      "node_modules/a": { version: "1.0.0" },
      "node_modules/b": { version: "2.0.0" },
      "node_modules/c": { version: "1.0.0" },
      "node_modules/other-platform": { version: "1.0.0", optional: true },
    },
  }
  const installed = { packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0" } } }

  assert.deepEqual(missingPackages(lock, installed), ["node_modules/b", "node_modules/c"])
  assert.equal(missingPackages(lock, undefined).length, 3)
})

test("a package of ours that an existing installation does not link to is missing", () => {
  const link = (name) => [`node_modules/@superstep/${name}`, { resolved: name, link: true }]
  const lock = { packages: Object.fromEntries([link("server"), link("machines")]) }

  assert.deepEqual(missingPackages(lock, { packages: Object.fromEntries([link("server")]) }), [
    "node_modules/@superstep/machines",
  ])
  assert.deepEqual(missingPackages(lock, lock), [])
})

test("npm start needs no packages that only development uses", () => {
  const lock = {
    packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0", dev: true } },
  }

  assert.deepEqual(missingPackages(lock, undefined, { toStart: true }), ["node_modules/a"])
  assert.deepEqual(missingPackages(lock, undefined), ["node_modules/a", "node_modules/b"])
})

test("a fresh clone installs what runs before the console's packages; other commands need all at once", () => {
  const first = npmArguments({ installed: undefined, toStart: true, withoutConsole: true })
  const others = npmArguments({ installed: undefined, toStart: false })

  assert.deepEqual(first.slice(0, 2), ["ci", "--omit=dev"])
  assert.deepEqual([first.includes("--workspace=control"), first.includes("--workspace=console")], [true, false])
  assert.deepEqual(others.slice(0, 2), ["ci", "--include=dev"])
  assert.ok(!others.some((it) => it.includes("workspace")))
})

test("an existing installation is updated, and keeps its packages for development", () => {
  const ofStart = { packages: { "node_modules/a": { version: "1.0.0" } } }
  const ofTest = { packages: { ...ofStart.packages, "node_modules/b": { version: "1.0.0", dev: true } } }
  const words = (installed, toStart) => npmArguments({ installed, toStart }).slice(0, 2).join(" ")

  assert.equal(words(ofStart, true), "install --omit=dev")
  assert.equal(words(ofTest, true), "install --include=dev")
  assert.equal(words(ofStart, false), "install --include=dev")
})

test("a second set-up of a clone waits for the first", async () => {
  const order = []
  const release = await soleSetup()

  const second = soleSetup().then((releaseSecond) => {
    order.push("second")
    releaseSecond()
  })
  await new Promise((done) => setTimeout(done))
  order.push("first")
  release()
  await second

  assert.deepEqual(order, ["first", "second"])
})

test("a stopped step kills its program", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "setup-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const pidFile = join(folder, "pid")
  const program = `process.on("SIGTERM", () => {})
    setInterval(() => {}, 1000)
    require("node:fs").writeFileSync("${pidFile}", String(process.pid))`
  const stop = new AbortController()

  const step = commandStep("working", process.execPath, ["-e", program], { background: stop.signal })
  while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") await new Promise((done) => setTimeout(done, 10))
  stop.abort()

  await assert.rejects(step, /stopped while working/)
  assert.throws(() => process.kill(Number(readFileSync(pidFile, "utf8")), 0), { code: "ESRCH" })
})

test("a long step shows its time on one line of a terminal, and a line elsewhere; a short one shows nothing", () => {
  const shown = (isTTY, secondsAgo) => {
    const out = { isTTY, text: "", write: (text) => (out.text += text) }
    showProgress("compiling", out, Date.now() - secondsAgo * 1000).end()
    return out.text
  }

  assert.equal(shown(true, 0), "")
  // It may take a moment from one line to the next.
  const terminal = shown(true, 7)
  assert.ok([7, 8].some((seconds) => terminal.startsWith(`\r\u001b[K  compiling … ${seconds}.`)))
  assert.match(shown(false, 7), /^ {2}compiling … [78]\.\d s\n$/)
})
