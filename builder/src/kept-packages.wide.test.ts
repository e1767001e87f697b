import assert from "node:assert/strict"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { swapperIn } from "@superstep/toolkit/files/testing/swapper"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { startBuild } from "./build-process.js"
import { restorePackages } from "./kept-packages.js"
import { isSelfContained } from "./packages-key.js"
import type { BuildStep } from "./project/build-step.js"
import { logOf, prepare, step, untilFinished } from "./testing/build.js"
import { type Registry, registryWith } from "./testing/registry.js"
import { builderBeside, isolatedUser } from "./testing/users.js"

const isRoot = process.getuid?.() === 0
const reader = isRoot ? isolatedUser(4400) : null
const user = reader && builderBeside(reader)

const install: BuildStep = {
  ...step("install", ""),
  argv: ["npm", "ci", "--no-audit", "--no-fund"],
  isRepeatable: true,
}

/** Builds as the deployment's user, where there is one. */
async function build(
  registry: Registry,
  { keptPackages, files = {}, steps = [] }: { keptPackages: string; files?: object; steps?: BuildStep[] },
) {
  const graph = "import { word } from 'dep'\nexport const graph = word\nconsole.log('the word is ' + word)\n"
  const { folder, request } = prepare({ ...registry.project, "chat.mjs": graph, ...files }, [install, ...steps])
  const home = dirname(request.tree)
  for (const path of [home, request.tree]) chmodSync(path, 0o777)
  const environment = { ...request.environment, npm_config_registry: registry.url }
  await startBuild(folder, { ...request, environment, keptPackages, user, reader }, {})
  const result = await untilFinished(folder)
  const log = logOf(folder)
  assert.equal(result.outcome, "published", log)
  return { artifact: request.artifactFolder, log }
}

const packageFile = (artifact: string) => join(artifact, "node_modules", "dep", "index.js")

test("packages of a lock file are reused, and their users cannot change them", async (t) => {
  await using registry = await registryWith("dep", "export const word = 'hello'\n")
  const keptPackages = join(temporaryFolder(), "packages")

  const first = await build(registry, { keptPackages })
  await t.test(
    "the second install of a lock file runs no package manager, and its files are the first one's",
    async () => {
      const second = await build(registry, { keptPackages })

      assert.match(first.log, /^install: npm ci/m)
      assert.match(second.log, /^install: the packages of this lock file are reused \(\d+ ms\)$/m)
      assert.doesNotMatch(second.log, /npm ci/)
      assert.match(second.log, /^the word is hello$/m)
      assert.equal(statSync(packageFile(second.artifact)).ino, statSync(packageFile(first.artifact)).ino)
      assert.equal(registry.fetches(), 1)
    },
  )

  await t.test("a build command that writes into a package changes only its own copy", async () => {
    const spoil = "require('fs').writeFileSync('node_modules/dep/index.js', `export const word = 'spoiled'\\n`)"
    const spoiling = await build(registry, {
      keptPackages,
      files: { "spoil.cjs": spoil },
      steps: [step("build", "node spoil.cjs")],
    })
    const after = await build(registry, { keptPackages })

    assert.match(spoiling.log, /are reused[\s\S]*the word is spoiled/)
    assert.match(after.log, /are reused[\s\S]*the word is hello/)
    assert.match(readFileSync(packageFile(first.artifact), "utf8"), /hello/)
  })

  await t.test("a graph cannot write into packages that others use", async () => {
    const graph = `import { writeFileSync } from "node:fs"
      try { writeFileSync("node_modules/dep/index.js", "spoiled"); console.log("written") } catch (e) { console.log(e.code) }
      export const graph = 1\n`
    const { log } = await build(registry, { keptPackages, files: { "chat.mjs": graph } })

    // A root without separate users is stopped by nothing; our tests always have such users.
    assert.match(log, /^EACCES$/m)
    assert.match(readFileSync(packageFile(first.artifact), "utf8"), /hello/)
  })

  await t.test("changed manifests are installed again, and projects with install scripts keep nothing", async () => {
    const manifest = JSON.parse(registry.project["package.json"] ?? "") as object
    const changed = await build(registry, {
      keptPackages,
      files: { "package.json": JSON.stringify({ ...manifest, description: "other" }) },
    })
    const generated = await build(registry, { keptPackages, files: { "db/schema.prisma": "model A { id Int @id }" } })
    const before = readdirSync(keptPackages)
    const scripted = await build(registry, {
      keptPackages,
      files: { "package.json": JSON.stringify({ ...manifest, scripts: { postinstall: "node -e 1" } }) },
    })

    for (const { log } of [changed, generated]) assert.match(log, /^install: npm ci/m)
    assert.match(scripted.log, /^install: npm ci/m)
    assert.deepEqual(readdirSync(keptPackages), before)
  })
})

test("packages are never written to the target of a link in the tree", async () => {
  const [folder, tree, outside] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  mkdirSync(join(folder, "key", "apps", "a", "node_modules"), { recursive: true })
  mkdirSync(join(outside, "a"))
  symlinkSync(outside, join(tree, "apps"))
  const kept = { folder, tree, user: null, reader: null, mayBeChanged: false }

  assert.equal(await restorePackages(kept, "key"), false)
  assert.deepEqual(readdirSync(join(outside, "a")), [])

  rmSync(join(tree, "apps"))
  mkdirSync(join(tree, "apps", "a"), { recursive: true })
  assert.equal(await restorePackages(kept, "key"), true)
  assert.ok(existsSync(join(tree, "apps", "a", "node_modules")))
})

test("packages are never written to a folder that is swapped while they are written", {
  skip: !isRoot && "only root puts packages into a tree of another user",
}, async () => {
  const [folder, outside] = [temporaryFolder(), temporaryFolder()]
  mkdirSync(join(folder, "key", "f0", "node_modules", "dep"), { recursive: true })
  const tree = join(temporaryFolder(), "tree")
  await using _ = await swapperIn(tree, { victim: outside, count: 1, user: isolatedUser(4401) })
  const kept = { folder, tree, user: isolatedUser(4401), reader: null, mayBeChanged: true }

  for (let round = 0; round < 500; round++) {
    await restorePackages(kept, "key")

    assert.deepEqual(readdirSync(outside), [], `round ${round}`)
  }
})

test("manifests that determine an install alone are recognized", () => {
  assert.ok(isSelfContained("package.json", '{"scripts": {"build": "tsc", "test": "x"}}'))
  assert.ok(isSelfContained("package-lock.json", '{"packages": {"node_modules/a": {"resolved": "a", "link": true}}}'))
  for (const script of ["preinstall", "postinstall", "prepare"]) {
    assert.ok(!isSelfContained("apps/a/package.json", JSON.stringify({ scripts: { [script]: "x" } })), script)
  }
  assert.ok(!isSelfContained("package-lock.json", '{"resolved": "file:dep.tgz"}'))
  assert.ok(!isSelfContained("package.json", "{"))
  assert.ok(!isSelfContained("native/binding.gyp", "{}"))
})
