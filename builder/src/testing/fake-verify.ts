/** Loads graphs as the worker's verify program does, for plain JavaScript: `node fake-verify.js <config> <result>`. */
import { readFile, writeFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { pathToFileURL } from "node:url"

const [configFile = "", resultFile = ""] = process.argv.slice(2)
const { graphs } = JSON.parse(await readFile(configFile, "utf8")) as { graphs: Record<string, string> }
const failed: { graph_id: string; message: string }[] = []
for (const [graphId, path] of Object.entries(graphs)) {
  const [, file = "", exported = ""] = path.match(/^(.+):([^:]+)$/) ?? []
  try {
    const loaded = (await import(pathToFileURL(resolve(dirname(configFile), file)).href)) as Record<string, unknown>
    if (loaded[exported] === undefined) throw new Error(`${file} has no export named ${exported}`)
  } catch (error) {
    failed.push({ graph_id: graphId, message: (error as Error).message })
  }
}
const loadedGraphs = Object.keys(graphs).filter((id) => !failed.some(({ graph_id }) => graph_id === id))
await writeFile(resultFile, JSON.stringify({ graphs: loadedGraphs, failed, langgraph_version: "1.4.12" }))
process.exitCode = failed.length === 0 ? 0 : 1
