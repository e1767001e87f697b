/** Which worker loads a graph: a project has workers of the languages that its graphs need, and no others. */
import { existsSync } from "node:fs"
import { join } from "node:path"

export type Language = "javascript" | "python"

const languages: readonly Language[] = ["javascript", "python"]

/** @param path  `path:export`, as in langgraph.json */
export const languageOf = (path: string): Language => (/\.py:[^:]*$/.test(path) ? "python" : "javascript")

interface Graphs {
  /** `path:export` by graph id. */
  readonly graphs: Readonly<Record<string, string>>
}

/** The project once for each language, with the graphs of that language. Pure. */
export function byLanguage<Project extends Graphs>(project: Project): Project[] {
  const graphs = Object.entries(project.graphs)
  return languages.flatMap((language) => {
    const own = graphs.filter(([, path]) => languageOf(path) === language)
    return own.length === 0 ? [] : [{ ...project, graphs: Object.fromEntries(own) }]
  })
}

/**
 * The program that runs a project's Python: that of the project's own environment where it has one.
 * @param otherwise  name or path, as in the setting `SUPERSTEP_PYTHON`
 */
export function pythonOf(folder: string, otherwise: string): string {
  const own = join(folder, ".venv/bin/python")
  return existsSync(own) ? own : otherwise
}

/** What to do when there is no such program. */
export const withoutPython = (interpreter: string): string =>
  `there is no ${interpreter}: install Python 3.10 or newer with langgraph, make a .venv in the project, or name one with SUPERSTEP_PYTHON`
