/** What a project's modules reported when they did not load, for people. Pure. */

export interface LoadFailure {
  /** A graph's id, or the place in `langgraph.json` of another module: `auth.path`, `http.app`. Empty when it is the project as a whole. */
  readonly id: string
  readonly message: string
  /** The lines of the source around the error. */
  readonly codeFrame?: string | undefined
}

export interface LoadProblem {
  /** All that failed for this reason. */
  readonly ids: readonly string[]
  readonly message: string
  readonly codeFrame?: string | undefined
}

const named = 3

/** One problem for each cause: a module that does not parse fails every graph that imports it. In the order of the first of each. */
export function loadProblems(failures: readonly LoadFailure[]): LoadProblem[] {
  const causes = new Map<string, { ids: string[]; message: string; codeFrame?: string | undefined }>()
  for (const { id, message, codeFrame } of failures) {
    const cause = JSON.stringify([message, codeFrame ?? null])
    const known = causes.get(cause)
    if (known) known.ids.push(id)
    else causes.set(cause, { ids: [id], message, codeFrame })
  }
  return [...causes.values()]
}

/** A sentence such as `graphs "a", "b", "c" and 17 more do not load: Unexpected end of file`. */
export function loadSentence({ ids, message }: LoadProblem): string {
  const [first = ""] = ids
  if (first === "") return message
  if (ids.length === 1) return `${isModule(first) ? first : `graph "${first}"`} does not load: ${message}`
  const shown = ids.slice(0, named).map((id) => (isModule(id) ? id : `"${id}"`))
  const more = ids.length - shown.length
  const list =
    more > 0 ? `${shown.join(", ")} and ${more} more` : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`
  return `${ids.some(isModule) ? "" : "graphs "}${list} do not load: ${message}`
}

const isModule = (id: string): boolean => id === "auth.path" || id === "http.app"
