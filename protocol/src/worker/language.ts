/** Which worker loads a graph. */
export type Language = "javascript" | "python"

/**
 * A graph is named by a file, or by a module of Python (`package.module:graph`).
 * @param spec  as in langgraph.json
 */
export function languageOf(spec: string): Language {
  const path = spec.replace(/:[^:]*$/, "")
  const isModule = !/[/\\]/.test(path) && !/\.(?:[cm]?[jt]sx?|py)$/.test(path)
  return isModule || path.endsWith(".py") ? "python" : "javascript"
}
