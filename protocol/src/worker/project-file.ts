/** What all readers of a `langgraph.json` do alike: the control plane, the agent server, the workers and the command line. Pure. */

/** Parses a JSON file. Editors of Windows begin it with a byte order mark. @throws SyntaxError */
export const parseJsonFile = (text: string): unknown => JSON.parse(text.replace(/^\ufeff/, ""))

// No project has as many. Each is loaded, and each one that is wrong is told.
const mostGraphs = 1000

/**
 * The problem of a graph's id; undefined when there is none.
 * @param graphs  as in the file
 */
export function graphIdProblem(graphs: unknown): string | undefined {
  if (typeof graphs !== "object" || graphs === null) return undefined
  if (Object.keys(graphs).length > mostGraphs) return `it names more than ${mostGraphs} graphs`
  if (Object.hasOwn(graphs, "")) return "a graph has an empty id: give it a name, such as agent"
  // Objects treat this name as something else than a property.
  if (Object.hasOwn(graphs, "__proto__")) return 'a graph cannot have the id "__proto__": choose another one'
  return undefined
}
