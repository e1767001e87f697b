/** Prepares a process once, before it imports files of a project. */
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { importLibraryEarly } from "./library.js"
import { enableProjectModules } from "./project-modules.js"

/**
 * @param project  folder that the paths are relative to
 * @param specs    `path:export` by graph id; a process that loads no graphs needs no LangGraph
 */
export async function openProject(project: string, specs: Readonly<Record<string, string>>): Promise<void> {
  const [spec] = Object.values(specs)
  if (spec !== undefined) await importLibraryEarly(pathToFileURL(resolve(project, spec)).href)
  enableProjectModules()
}
