/** `path:export`, as `langgraph.json` names a graph. Pure. */

/** Taken apart. */
export interface Spec {
  readonly path: string
  readonly name: string
}

/** @throws  an error that says what is expected */
export function parseSpec(spec: string): Spec {
  const colon = spec.lastIndexOf(":")
  if (colon < 1 || colon === spec.length - 1) {
    throw new Error(`"${spec}" must be a path and an export, such as "./src/graph.ts:graph"`)
  }
  return { path: spec.slice(0, colon), name: spec.slice(colon + 1) }
}
