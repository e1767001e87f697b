/** The real package managers, with a package of their registry: the plan's command works in a build's environment. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { startBuild } from "./build-process.js"
import { planBuild } from "./plan.js"
import { readProjectFacts } from "./project/project-facts.js"
import { logOf, prepare, untilFinished } from "./testing/build.js"
import { builderBeside, isolatedUser } from "./testing/users.js"

const reader = process.getuid?.() === 0 ? isolatedUser(4500) : null
const user = reader && builderBeside(reader)

const manifest = { name: "app", version: "1.0.0", private: true, dependencies: { "is-number": "7.0.0" } }
const graph = "import isNumber from 'is-number'\nexport const graph = isNumber(1)\nconsole.log('is a number:', graph)\n"

const managers: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ["npm", "package-lock.json", {}],
  ["pnpm@10", "pnpm-lock.yaml", {}],
  ["yarn@1", "yarn.lock", {}],
  ["@yarnpkg/cli-dist@4", "yarn.lock", { ".yarnrc.yml": "nodeLinker: node-modules\nenableGlobalCache: true\n" }],
  ["bun@1", "bun.lock", {}],
]
for (const [manager, lockFile, files] of managers) {
  test(`a lock file of ${manager} is installed, as the deployment's user`, async () => {
    const project = { ...files, "package.json": JSON.stringify(manifest), "chat.mjs": graph }
    const locked = { ...project, [lockFile]: lockedBy(manager, lockFile, project) }
    const { folder, request } = prepare(locked, [])
    for (const path of [dirname(request.tree), request.tree]) chmodSync(path, 0o777)
    mkdirSync(request.packageCache, { recursive: true })
    if (user) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, request.packageCache, request.tree])
    const facts = await readProjectFacts(request.tree, "langgraph.json")
    const plan = planBuild(facts, { installCommand: null, buildCommand: null }, new Set(["npm"]))

    await startBuild(folder, { ...request, plan, user, reader }, {})
    const result = await untilFinished(folder)

    const log = logOf(folder)
    assert.equal(result.outcome, "published", log)
    assert.match(log, /^is a number: true$/m)
    assert.ok(existsSync(join(request.artifactFolder, "node_modules", "is-number")))
  })
}

/** Creates the lock file as the project's authors would. */
function lockedBy(manager: string, lockFile: string, files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  // Without a lock file Yarn treats the folder as part of a project above it.
  if (manager.startsWith("@yarnpkg")) writeFileSync(join(folder, lockFile), "")
  const command = manager === "npm" ? ["npm", "install"] : ["npx", "--yes", manager, "install"]
  const [program = "", ...args] = command
  execFileSync(program, args, { cwd: folder, stdio: "pipe", env: { ...process.env, CI: "" } })
  return readFileSync(join(folder, lockFile), "utf8")
}
