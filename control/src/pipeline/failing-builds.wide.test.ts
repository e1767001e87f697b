/** Every way in which a build can fail: its code, its message, its hint, and the end of its log. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import type { ErrorCode } from "../revisions/revision.js"
import { hintFor } from "../revisions/status-message.js"
import { shared } from "../testing/api.js"
import { deploymentOf, smallProject } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

interface Failing {
  /** Files added to the small project, or replacing its own. */
  readonly files?: Readonly<Record<string, string>>
  readonly config?: Record<string, string>
  readonly configPath?: string
  /** Expected in the build log. */
  readonly log?: RegExp
}

const config = (value: object) => ({
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" }, ...value }),
})
const graph = (source: string) => ({ "chat.mjs": source })
const packageJson = (value: object) => ({ "package.json": JSON.stringify(value) })
/** A build that runs this program of the project. */
const byCommand = (source: string): Failing => ({
  config: { build_command: "node step.cjs" },
  files: { "step.cjs": source },
})
const keyMissing = "The MODEL_API_KEY environment variable is missing or empty"
const wrongTypes = {
  ...packageJson({ superstep: { typecheck: true } }),
  "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, types: [] }, files: ["wrong.ts"] }),
  "wrong.ts": 'export const answer: number = "forty-two"',
}
const ourPackages = fileURLToPath(new URL("../../../node_modules", import.meta.url))
const linkPackages = `ln -s '${ourPackages}' node_modules`

const all: readonly (readonly [what: string, code: ErrorCode, words: RegExp, it: Failing])[] = [
  ["no config", "config_missing", /there is no apps\/langgraph\.json/, { configPath: "apps/langgraph.json" }],
  ["a config without graphs", "config_invalid", /graphs/, { files: { "langgraph.json": "{}" } }],
  [
    "a config that sets what only the operator may set",
    "config_invalid",
    /langgraph\.json sets SUPERSTEP_WORKERS for the graphs, which only the operator/,
    { files: config({ env: { MODEL: "small", SUPERSTEP_WORKERS: "500" } }) },
  ],
  [
    "a file of variables that does so",
    "config_invalid",
    /agent\.env sets SUPERSTEP_WORKERS for the graphs/,
    { files: { ...config({ env: "agent.env" }), "agent.env": "MODEL=small\nSUPERSTEP_WORKERS=500\n" } },
  ],
  [
    "a build that makes the config do so",
    "config_invalid",
    /langgraph\.json sets SUPERSTEP_MAX_OPEN_REQUESTS/,
    byCommand(`require("fs").writeFileSync("langgraph.json", JSON.stringify({
        graphs: { chat: "./chat.mjs:graph" }, env: { SUPERSTEP_MAX_OPEN_REQUESTS: "1000000" } }))`),
  ],
  [
    "a graph that is not there",
    "graph_missing",
    /"chat" is in \.\/chta\.mjs/,
    { files: config({ graphs: { chat: "./chta.mjs:graph" } }) },
  ],
  [
    "a Node that is not there",
    "node_version_unsupported",
    /"node_version" requests Node 99, and this machine has v/,
    { files: config({ node_version: "99" }) },
  ],
  [
    "a Python that is not there",
    "python_unsupported",
    /"python_version" is 3\.99, and this machine has/,
    { files: { ...config({ graphs: { chat: "./chat.py:graph" }, python_version: "3.99" }), "chat.py": "" } },
  ],
  [
    "dependencies that cannot be installed",
    "install_failed",
    /"npm install .*" failed with exit code/,
    { files: packageJson({ dependencies: { gone: "file:./gone.tgz" } }), log: /ENOENT/ },
  ],
  [
    "a build command that fails",
    "build_command_failed",
    /failed with exit code 3/,
    { config: { build_command: "node -e 'console.error(7-1),process.exit(3)'" }, log: /^6$/m },
  ],
  [
    "types that are wrong",
    "type_check_failed",
    /"tsc --noEmit" failed with exit code/,
    { config: { install_command: linkPackages }, files: wrongTypes, log: /wrong\.ts\(1,14\): error TS2322/ },
  ],
  [
    "a type check without a compiler",
    "type_check_failed",
    /typescript is not installed in the project: add it to devDependencies/,
    { files: packageJson({ superstep: { typecheck: true } }) },
  ],
  [
    "a build that takes too long",
    "build_timeout",
    /took longer than 8 s/,
    { ...byCommand("setInterval(() => console.log('still here'), 500)"), log: /still here/ },
  ],
  [
    "a build that takes too much memory",
    "build_oom",
    /MB of memory; the limit of a build is 400 MB/,
    byCommand("const all = []\nfor (;;) all.push(Buffer.alloc(1 << 24, 1))"),
  ],
  [
    "a build that fills the disk",
    "build_too_big",
    /the limit of a build is 30 MB/,
    byCommand("require('fs').writeFileSync('big', Buffer.alloc(40 << 20))"),
  ],
  [
    "a graph that throws",
    "graph_load_failed",
    /"chat" does not load: bad day/,
    { files: graph("throw new Error('bad day')"), log: /bad day/ },
  ],
  [
    "a graph that wants a key",
    "secret_missing",
    /the deployment has no MODEL_API_KEY/,
    { files: graph(`if (!process.env.MODEL_API_KEY) throw new Error("${keyMissing}")`), log: /MODEL_API_KEY/ },
  ],
]

// All of them are built at once.
const patienceMs = 90_000

const limits = { SUPERSTEP_TIMEOUT_BUILD: "8", SUPERSTEP_BUILD_MEMORY_MB: "400", SUPERSTEP_BUILD_DISK_MB: "30" }
const platform = shared(() => platformWithRepository({ SUPERSTEP_MAX_BUILDS: "4", ...limits }))

test("a build that fails says which way, what to do, and shows the end of its log", async (t) => {
  const endings = all.map(async (row, index) => {
    const { configPath = "langgraph.json", files, config } = row[3]
    const branch = `failing-${index}`
    platform.repository.commit({ ...smallProject, ...files }, branch)
    const body = deploymentOf(platform.repository.url, { name: branch, config: config ?? {} })
    const source_revision_config = { repo_ref: branch, langgraph_config_path: configPath }
    const ids = await platform.deploy({ ...body, source_revision_config })
    const revision = await platform.untilEnded(ids.deploymentId, ids.revisionId, patienceMs)
    return { row, revision, log: await platform.buildLog(ids.deploymentId, ids.revisionId) }
  })

  for (const { row, revision, log } of await Promise.all(endings)) {
    const [what, code, words, failing] = row
    await t.test(`${what} is ${code}`, () => {
      assert.deepEqual([revision.status, revision.error_code], ["BUILD_FAILED", code], JSON.stringify(revision))
      assert.match(revision.status_message, words)
      assert.ok(revision.status_message.includes(hintFor(code)), revision.status_message)
      assert.match(log, new RegExp(`BUILD_FAILED \\(${code}\\)`))
      if (failing.log) assert.match(log, failing.log)
    })
  }
})
