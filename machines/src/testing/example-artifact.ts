/** An artifact of fake units. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { MachineFolders } from "../parts/files/folders.js"

export const projectFiles = {
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" } }),
  "chat.mjs": "export const graph = {}\n",
}

/** @returns  its id */
export function addExampleArtifact({ artifacts }: Pick<MachineFolders, "artifacts">): string {
  const artifactId = "an-artifact"
  mkdirSync(join(artifacts, artifactId), { recursive: true })
  for (const [name, content] of Object.entries(projectFiles)) writeFileSync(join(artifacts, artifactId, name), content)
  return artifactId
}
