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
  readonly what: string
  /** Files added to the small project, or replacing its own. */
  readonly files?: Readonly<Record<string, string>>
  /** Names of the small project that become symbolic links, with their targets. */
  readonly links?: Readonly<Record<string, string>>
  readonly config?: Record<string, string>
  readonly configPath?: string
  readonly code: ErrorCode
  readonly words: RegExp
  /** Expected in the build log. */
  readonly log?: RegExp
}

const config = (value: object) => ({
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" }, ...value }),
})
const graph = (source: string) => ({ "chat.mjs": source })
const ourPackages = fileURLToPath(new URL("../../../node_modules", import.meta.url))
const linkPackages = `ln -s '${ourPackages}' node_modules`

const all: readonly Failing[] = [
  {
    what: "no config",
    configPath: "apps/langgraph.json",
    code: "config_missing",
    words: /there is no apps\/langgraph\.json/,
  },
  { what: "a config without graphs", files: { "langgraph.json": "{}" }, code: "config_invalid", words: /graphs/ },
  {
    what: "a config that sets what only the operator may set",
    files: config({ env: { MODEL: "small", SUPERSTEP_WORKERS: "500" } }),
    code: "config_invalid",
    words: /langgraph\.json sets SUPERSTEP_WORKERS for the graphs, which only the operator/,
  },
  {
    what: "a file of variables that does so",
    files: { ...config({ env: "agent.env" }), "agent.env": "MODEL=small\nSUPERSTEP_WORKERS=500\n" },
    code: "config_invalid",
    words: /agent\.env sets SUPERSTEP_WORKERS for the graphs/,
  },
  {
    what: "a build that makes the config do so",
    config: { build_command: "node change.cjs" },
    files: {
      "change.cjs": `require("fs").writeFileSync("langgraph.json", JSON.stringify({
        graphs: { chat: "./chat.mjs:graph" }, env: { SUPERSTEP_MAX_OPEN_REQUESTS: "1000000" } }))`,
    },
    code: "config_invalid",
    words: /langgraph\.json sets SUPERSTEP_MAX_OPEN_REQUESTS/,
  },
  {
    what: "a graph that is not there",
    files: config({ graphs: { chat: "./chta.mjs:graph" } }),
    code: "graph_missing",
    words: /"chat" is in \.\/chta\.mjs/,
  },
  {
    what: "a Node that is not there",
    files: config({ node_version: "99" }),
    code: "node_version_unsupported",
    words: /"node_version" requests Node 99, and this machine has v/,
  },
  {
    what: "a Python that is not there",
    files: { ...config({ graphs: { chat: "./chat.py:graph" }, python_version: "3.99" }), "chat.py": "" },
    code: "python_unsupported",
    words: /"python_version" is 3\.99, and this machine has/,
  },
  {
    what: "dependencies that cannot be installed",
    files: { "package.json": JSON.stringify({ dependencies: { gone: "file:./gone.tgz" } }) },
    code: "install_failed",
    words: /"npm install .*" failed with exit code/,
    log: /ENOENT/,
  },
  {
    what: "a build command that fails",
    config: { build_command: "node -e 'console.error(7-1),process.exit(3)'" },
    code: "build_command_failed",
    words: /failed with exit code 3/,
    log: /^6$/m,
  },
  {
    what: "types that are wrong",
    config: { install_command: linkPackages },
    files: {
      "package.json": JSON.stringify({ superstep: { typecheck: true } }),
      "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, types: [] }, files: ["wrong.ts"] }),
      "wrong.ts": 'export const answer: number = "forty-two"',
    },
    code: "type_check_failed",
    words: /"tsc --noEmit" failed with exit code/,
    log: /wrong\.ts\(1,14\): error TS2322/,
  },
  {
    what: "a type check without a compiler",
    files: { "package.json": JSON.stringify({ superstep: { typecheck: true } }) },
    code: "type_check_failed",
    words: /typescript is not installed in the project: add it to devDependencies/,
  },
  {
    what: "a build that takes too long",
    config: { build_command: "node forever.cjs" },
    files: { "forever.cjs": "setInterval(() => console.log('still here'), 500)" },
    code: "build_timeout",
    words: /took longer than 8 s/,
    log: /still here/,
  },
  {
    what: "a build that takes too much memory",
    config: { build_command: "node hungry.cjs" },
    files: { "hungry.cjs": "const all = []\nfor (;;) all.push(Buffer.alloc(1 << 24, 1))" },
    code: "build_oom",
    words: /MB of memory; the limit of a build is 400 MB/,
  },
  {
    what: "a build that fills the disk",
    config: { build_command: "node fill.cjs" },
    files: { "fill.cjs": "require('fs').writeFileSync('big', Buffer.alloc(40 << 20))" },
    code: "build_too_big",
    words: /the limit of a build is 30 MB/,
  },
  {
    what: "a graph that throws",
    files: graph("throw new Error('bad day')"),
    code: "graph_load_failed",
    words: /"chat" does not load: bad day/,
    log: /bad day/,
  },
  {
    what: "a graph that wants a key",
    files: graph(
      "if (!process.env.MODEL_API_KEY) throw new Error('The MODEL_API_KEY environment variable is missing or empty')",
    ),
    code: "secret_missing",
    words: /the deployment has no MODEL_API_KEY/,
    log: /MODEL_API_KEY/,
  },
]

// All of them are built at once.
const patienceMs = 90_000

const limits = { SUPERSTEP_TIMEOUT_BUILD: "8", SUPERSTEP_BUILD_MEMORY_MB: "400", SUPERSTEP_BUILD_DISK_MB: "30" }
const platform = shared(() => platformWithRepository({ SUPERSTEP_MAX_BUILDS: "4", ...limits }))

test("a build that fails says which way, what to do, and shows the end of its log", async (t) => {
  const endings = all.map(async (failing, index) => {
    const { configPath = "langgraph.json" } = failing
    const branch = `failing-${index}`
    commit(failing, branch)
    const body = deploymentOf(platform.repository.url, { name: branch, config: failing.config ?? {} })
    const source_revision_config = { repo_ref: branch, langgraph_config_path: configPath }
    const ids = await platform.deploy({ ...body, source_revision_config })
    const revision = await platform.untilEnded(ids.deploymentId, ids.revisionId, patienceMs)
    return { failing, revision, log: await buildLog(ids) }
  })

  for (const { failing, revision, log } of await Promise.all(endings)) {
    await t.test(`${failing.what} is ${failing.code}`, () => {
      assert.deepEqual([revision.status, revision.error_code], ["BUILD_FAILED", failing.code], JSON.stringify(revision))
      assert.match(revision.status_message, failing.words)
      assert.ok(revision.status_message.includes(hintFor(failing.code)), revision.status_message)
      assert.match(log, new RegExp(`BUILD_FAILED \\(${failing.code}\\)`))
      if (failing.log) assert.match(log, failing.log)
    })
  }
})

/** Commits each case to a branch of its own. */
function commit({ files = {}, links = {} }: Failing, branch: string): void {
  const project = Object.entries({ ...smallProject, ...files }).filter(([name]) => !(name in links))
  platform.repository.commit(Object.fromEntries(project), branch, links)
}

async function buildLog({ deploymentId, revisionId }: { deploymentId: string; revisionId: string }): Promise<string> {
  const path = `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`
  const { body } = await platform.call("POST", path, { order: "asc", limit: 100 })
  return body.logs.map((line: { message: string }) => line.message).join("\n")
}
