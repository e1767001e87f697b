import assert from "node:assert/strict"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BuildFailed } from "../faults/build-failed.js"
import { readProjectFacts } from "./project-facts.js"

function tree(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

const config = (graphs: unknown, rest: object = {}) => JSON.stringify({ graphs, ...rest })
const failsWith = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof BuildFailed, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, words)
  return true
}

test("the facts of a project are read from the root down to langgraph.json", async () => {
  const root = tree({
    "package.json": JSON.stringify({ workspaces: ["apps/*"], packageManager: "pnpm@9.1.0" }),
    "pnpm-lock.yaml": "",
    "apps/agent/package.json": JSON.stringify({ scripts: { build: "tsc" }, engines: { node: ">=20" } }),
    "apps/agent/yarn.lock": "__metadata:\n  version: 8\n",
    "apps/agent/langgraph.json": config(
      { chat: "./chat.ts:graph", other: { path: "./chat.ts:other", description: "second" } },
      { node_version: "22", env: { MODE: "a", COUNT: 2 } },
    ),
    "apps/agent/chat.ts": "",
  })

  const facts = await readProjectFacts(root, "apps/agent/langgraph.json")

  assert.deepEqual(facts.config, {
    graphs: { chat: "./chat.ts", other: "./chat.ts" },
    hasJavascript: true,
    python: undefined,
    nodeMajor: 22,
    env: { MODE: "a", COUNT: "2" },
    envFile: undefined,
  })
  assert.deepEqual(
    facts.folders.map(({ path, lockFiles }) => ({ path, lockFiles })),
    [
      { path: "", lockFiles: ["pnpm-lock.yaml"] },
      { path: "apps", lockFiles: [] },
      { path: "apps/agent", lockFiles: ["yarn.lock (berry)"] },
    ],
  )
  assert.equal(facts.folders[0].package?.packageManager, "pnpm@9.1.0")
  assert.equal(facts.folders[2]?.package?.hasBuildScript, true)
})

test("a byte order mark, which editors on Windows write, changes nothing", async () => {
  const files = {
    "langgraph.json": config({ chat: "./chat.ts:graph" }),
    "package.json": '{"packageManager":"npm@11.0.0"}',
  }
  const marked = Object.entries(files).map(([name, text]) => [name, `\ufeff${text}`])

  const facts = await readProjectFacts(tree({ ...Object.fromEntries(marked), "chat.ts": "" }), "langgraph.json")

  assert.deepEqual(facts.config.graphs, { chat: "./chat.ts" })
  assert.equal(facts.folders[0].package?.packageManager, "npm@11.0.0")
})

const wrong: readonly (readonly [string, Record<string, string>, string, RegExp])[] = [
  ["no file", { "a.txt": "" }, "config_missing", /no langgraph\.json in this commit/],
  ["no JSON", { "langgraph.json": "{" }, "config_invalid", /not valid JSON/],
  [
    "NUL in an origin",
    { "langgraph.json": config({ a: "./a.ts:g" }, { http: { cors: { allow_origins: ["*", "\0"] } } }) },
    "config_invalid",
    /^langgraph\.json cannot be used: http\.cors\.allow_origins\.1: expected text without U\+0000/,
  ],
  [
    "NUL in the id of a graph",
    { "langgraph.json": config({ "a\0": "./a.ts:g" }) },
    "config_invalid",
    /graphs\.a\\u0000: expected text without/,
  ],
  [
    "a graph without an id",
    { "langgraph.json": config({ "": "./a.ts:g" }) },
    "config_invalid",
    /a graph has an empty id/,
  ],
  [
    "a graph with the id __proto__",
    { "langgraph.json": '{"graphs": {"__proto__": "./a.ts:g"}}' },
    "config_invalid",
    /a graph cannot have the id "__proto__"/,
  ],
  ["no graphs", { "langgraph.json": "{}" }, "config_invalid", /graphs/],
  ["empty graphs", { "langgraph.json": config({}) }, "config_invalid", /at least one graph/],
  [
    "a graph without export",
    { "langgraph.json": config({ a: "./a.ts" }) },
    "config_invalid",
    /expected ".\/file.ts:export"/,
  ],
  [
    "a bad version",
    { "langgraph.json": config({ a: "./a.ts:g" }, { node_version: "20.1" }) },
    "config_invalid",
    /major version/,
  ],
  ["a missing graph", { "langgraph.json": config({ a: "./a.ts:g" }) }, "graph_missing", /"a" is in \.\/a\.ts/],
  [
    "a graph outside",
    { "langgraph.json": config({ a: "../../etc/passwd.ts:g" }) },
    "graph_missing",
    /not in this commit/,
  ],
  ["a missing Python file", { "langgraph.json": config({ a: "./a.py:g" }) }, "graph_missing", /"a" is in \.\/a\.py/],
  [
    "a bad version of Python",
    { "langgraph.json": config({ a: "pkg.mod:g" }, { python_version: "2.7" }) },
    "config_invalid",
    /python_version: a version such as "3\.12"/,
  ],
  [
    "a broken package.json",
    { "langgraph.json": config({ a: "./a.ts:g" }), "a.ts": "", "package.json": "{" },
    "config_invalid",
    /package\.json is not valid JSON/,
  ],
  [
    "a package.json that is no object",
    { "langgraph.json": config({ a: "./a.ts:g" }), "a.ts": "", "package.json": "null" },
    "config_invalid",
    /package\.json is not a JSON object/,
  ],
]
for (const [what, files, code, words] of wrong) {
  test(`${what} is ${code}`, async () => {
    await assert.rejects(readProjectFacts(tree(files), "langgraph.json"), failsWith(code, words))
  })
}

const engines: readonly (readonly [string, unknown, string | undefined])[] = [
  ["one", { name: "pnpm", version: "^10" }, "pnpm@^10"],
  ["one without a version", { name: "yarn" }, "yarn"],
  ["the first of several", [{ name: "bun", version: "1.2.0" }, { name: "npm" }], "bun@1.2.0"],
  ["nothing of use", [null], undefined],
]
for (const [what, packageManager, expected] of engines) {
  test(`devEngines may name ${what}`, async () => {
    const manifest = JSON.stringify({ devEngines: { packageManager } })
    const root = tree({ "langgraph.json": config({ a: "./a.ts:g" }), "a.ts": "", "package.json": manifest })

    assert.equal((await readProjectFacts(root, "langgraph.json")).folders[0].package?.packageManager, expected)
  })
}

test("neither a path nor a symbolic link leads out of the tree", async () => {
  const outside = tree({ "langgraph.json": config({ a: "./a.ts:g" }), "a.ts": "" })
  const root = tree({ "a.ts": "" })
  symlinkSync(join(outside, "langgraph.json"), join(root, "langgraph.json"))
  symlinkSync("loop", join(root, "loop"))

  for (const path of ["langgraph.json", "../langgraph.json", "loop", `${outside}/langgraph.json`, "a.ts/x", "."]) {
    await assert.rejects(readProjectFacts(root, path), failsWith("config_missing", /check langgraph_config_path/))
  }
})
