/**
 * The published package: packed, installed into a folder that knows nothing of this repository, and used there. It asks
 * the package registry, so it is one of the wider tests that `.ci/run` turns on.
 */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { packedCommand } from "./testing/copy-for-packing.js"
import { printedCurl } from "./testing/printed-curl.js"
import { interrupt, startProgram, untilPrinted } from "./testing/run-cli.js"

const run = promisify(execFile)

test("the packed package works in a foreign folder that has another zod", async (t) => {
  const cwd = temporaryFolder()
  const tarball = await packedCommand()
  mkdirSync(join(cwd, "app"))
  writeFileSync(join(cwd, "app/package.json"), JSON.stringify({ private: true, dependencies: { zod: "3.25.76" } }))
  const app = { cwd: join(cwd, "app"), env: foreignEnvironment() }

  try {
    await run("npm", ["install", "--no-audit", "--no-fund", tarball], app)
  } catch (error) {
    const { stderr } = error as { stderr: string }
    if (process.env.CI !== "true" && /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(stderr)) {
      return t.skip("no package registry can be reached from here")
    }
    throw error
  }
  const { stdout: version } = await run("npx", ["--no-install", "superstep", "--version"], app)
  await run("npx", ["--no-install", "superstep", "new", "my-agent"], app)
  const project = { ...app, cwd: join(app.cwd, "my-agent") }
  await run("npm", ["install", "--no-audit", "--no-fund"], project)
  const { answer, studio } = await askDev(project)

  assert.match(version, /^\d+\.\d+\.\d+\n$/)
  assert.ok(existsSync(join(app.cwd, "my-agent/langgraph.json")))
  assert.ok(existsSync(join(app.cwd, "node_modules/superstep/lib/docs/site/index.html")), "the documentation")
  for (const name of ["superstep_worker/main.py", "main.py", "verify.py"])
    assert.ok(existsSync(join(app.cwd, "node_modules/superstep/lib/workers/python", name)), name)
  assert.match(answer, /^event: end\ndata: .*"status":"success"/m)
  assert.match(studio, /<base href="\/studio\/" \/>/)
  assert.deepEqual(unwanted(join(app.cwd, "node_modules/superstep/lib")), [])
})

/** Runs the new project, pastes the command that is printed, and opens the console. */
async function askDev(project: { cwd: string; env: NodeJS.ProcessEnv }): Promise<{ answer: string; studio: string }> {
  const port = String(await freePort())
  const dev = startProgram(["npx", "--no-install", "superstep", "dev", "--port", port], project)
  try {
    await untilPrinted(dev, "  Try ")
    const { stdout: answer } = await run("sh", ["-c", printedCurl(dev.lines)])
    const studio = await (await fetch(`http://127.0.0.1:${port}/studio`)).text()
    return { answer, studio }
  } finally {
    await interrupt(dev)
  }
}

/** `npm test` tells its children where this repository is and what its `.npmrc` says; a user's shell does not. */
function foreignEnvironment(): NodeJS.ProcessEnv {
  const reported =
    /^(npm_(package|lifecycle|command|execpath|config_legacy_peer_deps)|INIT_CWD|SUPERSTEP_|DATABASE_URI|NODE_TEST_CONTEXT)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !reported.test(name)))
}

/** Sources, tests and maps are of no use to who installs the package. */
function unwanted(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => !path.startsWith("cli/templates/"),
  )
  return files.filter((path) => /\.test\.js$|\.map$|\.d\.ts$|tsbuildinfo$|\.tsx?$|(^|\/)testing\//.test(path))
}
