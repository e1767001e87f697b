import assert from "node:assert/strict"
import test from "node:test"
import { BuildFailed } from "./faults/build-failed.js"
import { planBuild } from "./plan.js"
import type { BuildPlan } from "./project/build-step.js"
import type { FolderFacts, LockFile, PackageFacts, ProjectFacts } from "./project/project-facts.js"

const aPackage: PackageFacts = {
  packageManager: undefined,
  enginesNode: undefined,
  hasBuildScript: false,
  hasWorkspaces: false,
  superstep: {},
}
const javascript = { hasJavascript: true, python: undefined } as const
const folder = (path: string, lockFiles: LockFile[] = [], change: Partial<PackageFacts> | null = {}): FolderFacts => ({
  path,
  lockFiles,
  package: change ? { ...aPackage, ...change } : undefined,
})
const project = (folders: ProjectFacts["folders"]): ProjectFacts => ({
  config: { ...javascript, graphs: { chat: "./chat.ts" }, nodeMajor: undefined, env: {}, envFile: undefined },
  folders,
})
const noCommands = { installCommand: null, buildCommand: null }
const npmOnly = new Set(["npm"])
const shown = ({ steps }: BuildPlan) => steps.map((step) => `${step.folder || "."}: ${step.argv.join(" ")}`)
const planOf = (facts: ProjectFacts, commands = noCommands, tools: readonly string[] = ["npm"]) =>
  shown(planBuild(facts, commands, new Set(tools)))

const managers: readonly (readonly [LockFile[], packageManager: string | undefined, string[], string])[] = [
  [[], undefined, [], "npm install --no-audit --no-fund"],
  [["package-lock.json"], undefined, [], "npm ci --no-audit --no-fund"],
  [["yarn.lock", "package-lock.json"], undefined, ["yarn"], "yarn install --frozen-lockfile"],
  [["yarn.lock"], undefined, [], "npx --yes yarn@1 install --frozen-lockfile"],
  [["yarn.lock (berry)"], "yarn@4.5.0", [], "npx --yes @yarnpkg/cli-dist@4.5.0 install --immutable"],
  [["pnpm-lock.yaml"], undefined, ["pnpm"], "pnpm install --frozen-lockfile"],
  [["pnpm-lock.yaml"], "pnpm@9.1.0+sha512.ab", ["pnpm"], "npx --yes pnpm@9.1.0 install --frozen-lockfile"],
  [["bun.lock"], undefined, [], "npx --yes bun@1 install --frozen-lockfile"],
  [[], "pnpm@9.1.0", [], "npx --yes pnpm@9.1.0 install"],
  [[], "pnpm@>=9 <11", [], "npx --yes pnpm@10 install"],
  [[], "yarn@1; rm -rf /", ["yarn"], "yarn install"],
  [[], "rm -rf /", [], "npm install --no-audit --no-fund"],
]
for (const [lockFiles, packageManager, tools, command] of managers)
  test(`${lockFiles.join(" and ") || packageManager || "no lock file"} means: ${command}`, () => {
    assert.deepEqual(planOf(project([folder("", lockFiles, { packageManager })]), noCommands, tools), [`.: ${command}`])
  })

test("a workspace is installed at its root and built where langgraph.json is", () => {
  const folders = [
    folder("", ["package-lock.json"], { hasWorkspaces: true }),
    folder("apps/agent", [], { hasBuildScript: true }),
  ] as const

  assert.deepEqual(planOf(project([...folders])), [".: npm ci --no-audit --no-fund", "apps/agent: npm run build"])
})

test("a project in a folder of its own is installed there, and one without package.json nowhere", () => {
  assert.deepEqual(planOf(project([folder("", [], null)])), [])
  assert.deepEqual(planOf(project([folder("", [], null), folder("agent", ["package-lock.json"])])), [
    "agent: npm ci --no-audit --no-fund",
  ])
  assert.deepEqual(planOf(project([folder("", []), folder("agent", [])])), ["agent: npm install --no-audit --no-fund"])
})

test("commands of the deployment replace ours: install at the root, build beside langgraph.json", () => {
  const commands = { installCommand: "npm ci && npm run prepare", buildCommand: "npm run compile" }

  const { steps } = planBuild(project([folder(""), folder("agent", [], { hasBuildScript: true })]), commands, npmOnly)

  assert.deepEqual(
    steps.map(({ argv, folder, failure }) => ({ argv, folder, failure })),
    [
      { argv: ["sh", "-c", "npm ci && npm run prepare"], folder: "", failure: "install_failed" },
      { argv: ["sh", "-c", "npm run compile"], folder: "agent", failure: "build_command_failed" },
    ],
  )
})

test("types are checked after the build, with the innermost compiler of the project", () => {
  const checked = { superstep: { typecheck: true }, hasBuildScript: true }
  const folders = [
    folder("", ["package-lock.json"], { hasWorkspaces: true }),
    folder("apps"),
    folder("apps/agent", [], checked),
  ] as const

  const { steps } = planBuild(project([...folders]), noCommands, npmOnly)

  assert.deepEqual(
    steps.map(({ name, folder }) => [name, folder]),
    [
      ["install", ""],
      ["build", "apps/agent"],
      ["typecheck", "apps/agent"],
    ],
  )
  assert.deepEqual(steps.at(-1)?.argv.slice(-3), [".", "..", "../.."])
})

test("a setting of a step that is not valid is refused with its place", () => {
  const facts = project([folder(""), folder("agent", [], { superstep: { typecheck: "yes" } })])
  const words = "agent/package.json: superstep.typecheck must be true or false"
  assert.throws(() => planBuild(facts, noCommands, npmOnly), { code: "config_invalid", message: words })
})

for (const bad of ['"', "`", "\\", "\n", "\r", "\t", "|", ";", "$", ">", "<", "a & b", "a &&& b", "a &&&& b"]) {
  test(`a command with ${JSON.stringify(bad)} is refused`, () => {
    const commands = { installCommand: `npm ci ${bad}`, buildCommand: null }
    const refusal = (error: unknown) => error instanceof BuildFailed && error.code === "config_invalid"
    assert.throws(() => planBuild(project([folder("")]), commands, npmOnly), refusal)
  })
}
