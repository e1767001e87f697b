/** Which generation executes which graph. Pure. */

/**
 * The routes after a generation has loaded. A graph that it loaded goes to it. A graph that failed to load stays with the
 * generation that served it last, if there is one (G2). A graph that the project no longer has is removed.
 * @param wanted  ids of all graphs of the new generation's project
 * @param loaded  ids of the graphs that it has loaded
 */
export function routesAfter<Generation>(
  routes: ReadonlyMap<string, Generation>,
  next: Generation,
  { wanted, loaded }: { wanted: readonly string[]; loaded: readonly string[] },
): Map<string, Generation> {
  const after = new Map<string, Generation>()
  for (const graphId of wanted) {
    const server = loaded.includes(graphId) ? next : routes.get(graphId)
    if (server !== undefined) after.set(graphId, server)
  }
  return after
}

/** The routes without those to a generation whose processes are not replaced (G4). */
export const routesWithout = <Generation>(routes: ReadonlyMap<string, Generation>, gone: Generation) =>
  new Map([...routes].filter(([, generation]) => generation !== gone))
