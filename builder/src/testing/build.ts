/** Runs builds of a few files as the control plane would, without the rest of it. */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { buildState, startBuild } from "../build-process.js"
import { type BuildLogLine, type BuildRequest, type BuildResult, buildFiles } from "../build-request.js"
import { buildEnvironment } from "../environment.js"
import { ownNode } from "../installed-nodes.js"
import type { BuildStep } from "../project/build-step.js"

const verifyEntry = fileURLToPath(new URL("fake-verify.js", import.meta.url))

export const limits = {
  installMs: 120_000,
  buildMs: 120_000,
  silenceMs: 120_000,
  verifyMs: 120_000,
  memoryMb: 2048,
  diskMb: 512,
}

const project: Readonly<Record<string, string>> = {
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" } }),
  "chat.mjs": "export const graph = {}\n",
}

/** A build of these files, ready to be started. */
export function prepare(
  files: Readonly<Record<string, string>>,
  steps: readonly BuildStep[],
  change: Partial<BuildRequest> = {},
) {
  const home = temporaryFolder()
  const tree = join(home, "tree")
  for (const [name, content] of Object.entries({ ...project, ...files })) {
    mkdirSync(dirname(join(tree, name)), { recursive: true })
    writeFileSync(join(tree, name), content)
  }
  const folder = join(home, "build")
  const cache = join(home, "cache")
  const base = { ...process.env, DATABASE_URI: "postgres://of-the-platform" }
  const request: BuildRequest = {
    tree,
    configPath: "langgraph.json",
    artifactFolder: join(home, "artifacts", "abc"),
    home: join(home, "home"),
    plan: { steps },
    notes: ["a note"],
    environment: buildEnvironment({ base, execPath: process.execPath, home: join(home, "home"), cache }),
    packageCache: cache,
    keptPackages: join(home, "packages"),
    platform: "test",
    node: ownNode,
    limits,
    verifyEntry,
    user: null,
    reader: null,
    ...change,
  }
  return { folder, request, cache }
}

export async function build(
  files: Readonly<Record<string, string>>,
  steps: readonly BuildStep[],
  change: Partial<BuildRequest> = {},
  agentEnv: Record<string, string> = {},
) {
  const { folder, request } = prepare(files, steps, change)
  await startBuild(folder, request, agentEnv)
  const result = await untilFinished(folder)
  return { result, request, log: logOf(folder) }
}

export const untilFinished = async (folder: string): Promise<BuildResult> => {
  const state = await until(
    async () => {
      const now = await buildState(folder)
      assert.notEqual(now.state, "vanished", readFileSync(join(folder, "process.log"), "utf8"))
      return now.state === "finished" && now
    },
    { what: "the build has ended", timeoutMs: 120_000 },
  )
  return state.result
}

export const logOf = (folder: string): string =>
  readFileSync(buildFiles(folder).log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as BuildLogLine).message)
    .join("\n")

export const step = (name: BuildStep["name"], command: string): BuildStep => ({
  name,
  argv: ["sh", "-c", command],
  ...(command !== "" && { shown: command }),
  folder: "",
  isRepeatable: false,
  failure: name === "install" ? "install_failed" : "build_command_failed",
})
