/**
 * The packages of a release, built from a tagged commit and used in empty folders that know nothing of this repository. `dev` started from the
 * tarball and from the wheel reports how long it took to answer.
 */
import assert from "node:assert/strict"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { before, type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { copyForPacking } from "superstep/testing/copy-for-packing"
import { interrupt, startProgram, untilPrinted } from "superstep/testing/run-cli"
import { testPython, withoutPython } from "./testing/languages.js"

const run = promisify(execFile)
const withoutTools =
  ["git", "python3", "tar"].some((program) => spawnSync(program, ["--version"]).status !== 0) &&
  "git, python3 and tar are needed"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
let copy = ""
const packages = () => join(copy, "packages")
const fileOf = (pattern: RegExp) =>
  join(packages(), readdirSync(packages()).find((name) => pattern.test(name)) ?? "none")

const build = (...options: string[]) =>
  run(process.execPath, [join(copy, "scripts/releases/packages.mjs"), "--without-image", ...options], { cwd: copy })

/** A clone of this commit with the tag of its version. */
before(async () => {
  if (withoutTools) return
  copy = copyForPacking()
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: copy })
  // Beside what .gitignore names: the copy has a link.
  writeFileSync(join(copy, ".gitignore"), "\nnode_modules\n", { flag: "a" })
  git("init", "--quiet")
  git("add", "--all")
  git("commit", "--quiet", "--message", "a release")
  git("tag", `v${version}`)
  await build()
})

/** The user's shell: `npm test` tells its children where this repository is. The caches are the user's, without what npx installs into its. */
function foreignEnvironment(folder: string): NodeJS.ProcessEnv {
  const reported =
    /^(npm_(package|lifecycle|command|execpath|config_legacy_peer_deps)|INIT_CWD|SUPERSTEP_|DATABASE_URI|NODE_TEST_CONTEXT)/
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !reported.test(name)))
  const cache = execFileSync("npm", ["config", "get", "cache"], { env, cwd: folder }).toString().trim()
  const own = join(folder, ".cache")
  mkdirSync(own, { recursive: true })
  if (existsSync(join(cache, "_cacache"))) symlinkSync(join(cache, "_cacache"), join(own, "_cacache"))
  return { ...env, npm_config_cache: own, SUPERSTEP_WORKERS: "1" }
}

/** Starts `dev` in a project, and asks it. @returns  the stream of the answer, and the seconds until its end */
async function askDev(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ answer: string; seconds: number }> {
  const port = await freePort()
  const began = performance.now()
  const dev = startProgram([program, ...args, "--port", `${port}`], { cwd, env })
  try {
    await untilPrinted(dev, "  Try ", 180_000)
    const reply = await fetch(`http://127.0.0.1:${port}/runs/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        assistant_id: "chat",
        input: { messages: [{ role: "user", content: "Hello!" }] },
        stream_mode: ["messages-tuple"],
      }),
    })
    const answer = await reply.text()
    return { answer, seconds: (performance.now() - began) / 1000 }
  } finally {
    await interrupt(dev)
  }
}

const succeeded = /^event: messages\ndata: \[\{"content":"Hello! "[\s\S]*^event: end\ndata: .*"status":"success"/m

function report(t: TestContext, seconds: Record<string, number>): void {
  for (const [name, each] of Object.entries(seconds)) t.diagnostic(`${name}: ${each.toFixed(1)} s`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

test("a tagged commit gives all packages with their sums, and gives the same bytes again", {
  skip: withoutTools,
}, async () => {
  const again = join(temporaryFolder(), "again")
  await build("--out", again)
  const sums = readFileSync(join(packages(), "SHA256SUMS"), "utf8")

  assert.equal(readFileSync(join(again, "SHA256SUMS"), "utf8"), sums)
  execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: packages() })
  assert.deepEqual(
    readdirSync(packages()).map((name) => name.replace(version, "V").replace(/none-.*\.whl/, "none.whl")),
    [
      "SHA256SUMS",
      "create-superstep-V.tgz",
      "superstep-V-py3-none.whl",
      "superstep-V.cdx.json",
      "superstep-V.intoto.json",
      "superstep-V.tgz",
      "superstep-chart-V.tgz",
    ],
  )
  const bill = JSON.parse(readFileSync(fileOf(/cdx\.json$/), "utf8")) as {
    components: { name: string; properties: { value: string }[] }[]
  }
  const isIn = (name: string) =>
    bill.components.find((each) => each.name === name)?.properties.map(({ value }) => value)
  // One that is bundled, and one that npm installs.
  assert.ok(isIn("hono")?.includes(`superstep-${version}.tgz`))
  const endings = isIn("@langchain/langgraph-ui")?.map((file) => file.slice(-4))
  assert.deepEqual(endings, [".whl"])
  assert.equal(isIn("@biomejs/biome"), undefined)
})

test("from the tarballs, npx creates a project, whose command dev answers", { skip: withoutTools }, async (t) => {
  const cwd = temporaryFolder()
  const env = foreignEnvironment(cwd)
  const npx = (tarball: string, ...args: string[]) => run("npx", ["--yes", `file:${tarball}`, ...args], { cwd, env })

  const firstSeconds = await timed(() => npx(fileOf(/^superstep-\d.*\.tgz$/), "new", "--python", "one"))
  const createSeconds = await timed(() => npx(fileOf(/^create-superstep/), "two"))
  const project = { cwd: join(cwd, "two"), env }
  const installSeconds = await timed(() => run("npm", ["install", "--no-audit", "--no-fund"], project))
  const { answer, seconds } = await askDev(["npm", "run", "dev", "--"], project)

  report(t, {
    "new, by npx from the tarball": firstSeconds,
    "create, by npx from its tarball": createSeconds,
    "npm install in the project": installSeconds,
    "dev, by npm and npx, until it has answered": seconds,
  })
  assert.ok(existsSync(join(cwd, "one/chat.py")))
  assert.match(answer, succeeded)
  const { scripts } = JSON.parse(readFileSync(join(cwd, "two/package.json"), "utf8")) as { scripts: { dev: string } }
  assert.equal(scripts.dev, `npx --yes file:${fileOf(/^superstep-\d.*\.tgz$/)} dev`)
})

test("installed beside another zod, the package answers, and has no sources, tests or maps", {
  skip: withoutTools,
}, async () => {
  const cwd = join(temporaryFolder(), "app")
  mkdirSync(cwd)
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, dependencies: { zod: "3.25.76" } }))
  const app = { cwd, env: foreignEnvironment(temporaryFolder()) }
  const project = { ...app, cwd: join(cwd, "my-agent") }
  const lib = join(cwd, "node_modules/superstep/lib")

  await run("npm", ["install", "--no-audit", "--no-fund", fileOf(/^superstep-\d.*\.tgz$/)], app)
  const shown = await run("npx", ["--no-install", "superstep", "--version"], app)
  await run("npx", ["--no-install", "superstep", "new", "my-agent"], app)
  await run("npm", ["install", "--no-audit", "--no-fund"], project)
  const { answer } = await askDev(["npx", "--no-install", "superstep", "dev"], project)

  assert.equal(shown.stdout, `${version}\n`)
  assert.match(answer, succeeded)
  const workers = ["superstep_worker/main.py", "main.py", "verify.py"].map((name) => `workers/python/${name}`)
  for (const name of ["docs/site/index.html", "console/site/index.html", ...workers])
    assert.ok(existsSync(join(lib, name)), name)
  const files = readdirSync(lib, { recursive: true, encoding: "utf8" }).filter((it) => !it.startsWith("cli/templates/"))
  const unwanted = /\.test\.js$|\.map$|\.d\.ts$|tsbuildinfo$|\.tsx?$|(^|\/)testing\//
  assert.deepEqual(files.filter((path) => unwanted.test(path)).join(), "")
})

/** A folder of programs that has a Python and what scripts of uv need, and no Node. */
function programsWithoutNode(): string {
  const folder = join(temporaryFolder(), "bin")
  mkdirSync(folder)
  for (const name of ["sh", "realpath", "dirname"]) symlinkSync(join("/usr/bin", name), join(folder, name))
  symlinkSync(
    execFileSync(testPython, ["-c", "import sys; print(sys._base_executable)"]).toString().trim(),
    join(folder, "python3"),
  )
  return folder
}

test("from the wheel, uvx creates a project in Python and answers, without Node on the PATH", {
  skip: withoutTools || withoutPython,
}, async (t) => {
  const cwd = temporaryFolder()
  const programs = dirname(testPython)
  const env = { ...foreignEnvironment(cwd), PATH: programsWithoutNode() }
  const wheel = fileOf(/\.whl$/)
  const uvx = [join(programs, "uvx"), "--quiet", "--from", wheel, "superstep"] as const
  let made = ""

  const newSeconds = await timed(async () => {
    made = (await run(uvx[0], [...uvx.slice(1), "new", "--python", "a"], { cwd, env })).stdout
  })
  const { answer, seconds } = await askDev([...uvx, "dev"], { cwd: join(cwd, "a"), env })
  // It keeps 160 MB of each wheel.
  await run(join(programs, "uv"), ["cache", "clean", "--quiet", "superstep"], { env })

  report(t, { "new, by uvx from the wheel": newSeconds, "dev, by uvx, until it has answered": seconds })
  assert.ok(made.endsWith(`  uvx --from ${wheel} superstep dev\n`), made)
  assert.match(answer, succeeded)
})
