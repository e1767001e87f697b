/** Which worker loads a graph: a project has workers only for the languages of its graphs. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type Language, languageOf } from "@superstep/protocol/worker/language"

export { type Language, languageOf }

const languages: readonly Language[] = ["javascript", "python"]

interface Graphs {
  /** `path:export` by graph id. */
  readonly graphs: Readonly<Record<string, string>>
}

interface WorkerCode extends Graphs {
  /** Those of a gate, which has no graphs. */
  readonly auth?: string | undefined
  readonly app?: string | undefined
}

/** All code of a worker is in one language. */
export function languageOfWorker({ graphs, auth, app }: WorkerCode): Language {
  const spec = Object.values(graphs)[0] ?? auth ?? app
  return spec === undefined ? "javascript" : languageOf(spec)
}

/** The language of a store's embedding; undefined for `provider:model`, which every language may have. */
export const languageOfEmbedding = (spec: string): Language | undefined =>
  /^[^:./\\]*:/.test(spec) ? undefined : languageOf(spec)

/** Splits a project by language, each part with the graphs of that language. Pure. */
export function byLanguage<Project extends Graphs>(project: Project): Project[] {
  const graphs = Object.entries(project.graphs)
  return languages.flatMap((language) => {
    const own = graphs.filter(([, path]) => languageOf(path) === language)
    return own.length === 0 ? [] : [{ ...project, graphs: Object.fromEntries(own) }]
  })
}

/**
 * The Python program for a project: that of the project's own environment if it has one.
 * @param otherwise  name or path, as in the setting `SUPERSTEP_PYTHON`
 */
export function pythonOf(folder: string, otherwise: string): string {
  const own = join(folder, ".venv/bin/python")
  return existsSync(own) ? own : otherwise
}

/** The message for a missing Python program. */
export const withoutPython = (interpreter: string): string =>
  `there is no ${interpreter}: install Python 3.10 or newer with langgraph, make a .venv in the project, or name one with SUPERSTEP_PYTHON`
