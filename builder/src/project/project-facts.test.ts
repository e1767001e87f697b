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

const aGraph = { a: "./a.ts:g" }
const nulOrigin = config(aGraph, { http: { cors: { allow_origins: ["*", "\0"] } } })
const withPackage = (text: string) => ({ "langgraph.json": config(aGraph), "a.ts": "", "package.json": text })

/** @param files  or the text of `langgraph.json` */
type Wrong = readonly [what: string, files: Record<string, string> | string, words: RegExp, code?: string]

const wrong: readonly Wrong[] = [
  ["no file", { "a.txt": "" }, /no langgraph\.json in this commit/, "config_missing"],
  ["no JSON", "{", /not valid JSON/],
  ["NUL in an origin", nulOrigin, /^langgraph\.json cannot be used: http\.cors\.allow_origins\.1: .* without U\+0000/],
  ["NUL in the id of a graph", config({ "a\0": "./a.ts:g" }), /graphs\.a\\u0000: expected text without/],
  ["a graph without an id", config({ "": "./a.ts:g" }), /a graph has an empty id/],
  ["a graph with the id __proto__", '{"graphs": {"__proto__": "./a.ts:g"}}', /cannot have the id "__proto__"/],
  ["no graphs", "{}", /graphs/],
  ["empty graphs", config({}), /at least one graph/],
  ["a graph without export", config({ a: "./a.ts" }), /expected ".\/file.ts:export"/],
  ["a bad version", config(aGraph, { node_version: "20.1" }), /major version/],
  ["a missing graph", config(aGraph), /"a" is in \.\/a\.ts/, "graph_missing"],
  ["a graph outside", config({ a: "../../etc/passwd.ts:g" }), /not in this commit/, "graph_missing"],
  ["a missing Python file", config({ a: "./a.py:g" }), /"a" is in \.\/a\.py/, "graph_missing"],
  ["a bad version of Python", config({ a: "pkg.mod:g" }, { python_version: "2.7" }), /: a version such as "3\.12"/],
  ["a broken package.json", withPackage("{"), /package\.json is not valid JSON/],
  ["a package.json that is no object", withPackage("null"), /package\.json is not a JSON object/],
]
for (const [what, files, words, code = "config_invalid"] of wrong) {
  test(`${what} is ${code}`, async () => {
    const root = tree(typeof files === "string" ? { "langgraph.json": files } : files)
    await assert.rejects(readProjectFacts(root, "langgraph.json"), failsWith(code, words))
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
    const root = tree(withPackage(JSON.stringify({ devEngines: { packageManager } })))

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
