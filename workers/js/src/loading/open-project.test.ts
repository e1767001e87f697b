/** The project's LangGraph is imported before its files, and only once. */
import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import { loadGraphs, openProject } from "./loader.js"
import { importFrom } from "./project-modules.js"

const folder = mkdtempSync(join(tmpdir(), "project-"))
after(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, "package.json"), `{"type":"module"}`)
writeFileSync(join(folder, "graph.ts"), `import "@langchain/langgraph"\nexport const graph: number = 1`)
const specs = { chat: "./graph.ts:graph" }

/** How often a LangGraph that counts itself was executed. */
const imports = () => (globalThis as { langgraphImports?: number }).langgraphImports ?? 0

/** @param exports  of its package.json */
function install(exports: object): void {
  const langgraph = join(folder, "node_modules/@langchain/langgraph")
  mkdirSync(join(langgraph, "dist"), { recursive: true })
  const manifest = { name: "@langchain/langgraph", type: "module", exports }
  writeFileSync(join(langgraph, "package.json"), JSON.stringify(manifest))
  const count = "globalThis.langgraphImports = (globalThis.langgraphImports ?? 0) + 1"
  writeFileSync(join(langgraph, "dist/index.js"), count)
  writeFileSync(join(langgraph, "dist/index.cjs"), count)
}

test("a project without LangGraph can be opened; its graphs report the error", async () => {
  await openProject(folder, specs)

  const { failed } = await loadGraphs(folder, specs)

  assert.match(failed[0]?.error.message ?? "", /Cannot find package '@langchain\/langgraph'/)
})

test("LangGraph is imported before any file of the project, and the files get the same module", async () => {
  const twins = { import: { default: "./dist/index.js" }, require: "./dist/index.cjs" }
  install({ ".": twins, "./package.json": "./package.json" })

  await openProject(folder, specs)
  const early = imports()
  await importFrom("@langchain/langgraph", pathToFileURL(join(folder, "graph.ts")).href)

  assert.equal(early, 1)
  assert.equal(imports(), 1)
})
