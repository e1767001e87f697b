/** The agent of the end-to-end tests in a bare git repository. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type BareRepository, bareRepository } from "@superstep/control/sources/testing/bare-repository"
import { pathTo } from "../paths.js"

export interface AgentRepository extends Pick<BareRepository, "url"> {
  /** Commits a new version of the agent, which its responses contain. @returns  the commit's id */
  commit(version: string): string
}

/** @param folder  where to create the repository; its first commit is the unchanged agent */
export function agentRepository(folder: string): AgentRepository {
  const repository = bareRepository(folder)
  const root = pathTo("../tests/agent")
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    /^[^.].*\.(ts|json)$/.test(name),
  )
  const paths = names.filter((name) => !name.includes("node_modules"))
  const committed = Object.fromEntries(paths.map((name) => [name, readFileSync(join(root, name), "utf8")]))
  const config = JSON.parse(committed["langgraph.json"] ?? "") as object
  // Compared systems run on one Node.
  const node_version = process.versions.node.split(".")[0]
  const files = { ...committed, "langgraph.json": JSON.stringify({ ...config, node_version }) }
  const commit = (version: string) =>
    repository.commit({ ...files, "src/version.ts": `export const version = "${version}"\n` })
  repository.commit(files)
  return { url: repository.url, commit }
}
