/** Which generation executes which graph. Pure. */
import type { LanguageSlots } from "./language-slots.js"
import { type Language, languageOf } from "./languages.js"

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

interface Serving {
  readonly project: { readonly graphs: Readonly<Record<string, string>> }
  freeSlots(language: Language): number
}

/** The free slots for runs of the routed graphs, by language. A generation's slots count when a graph of the language is routed to it. */
export function slotsOfRoutes(routes: ReadonlyMap<string, Serving>): readonly LanguageSlots[] {
  const routed = [...routes].map(([graphId, generation]) => {
    return { graphId, generation, language: languageOf(generation.project.graphs[graphId] ?? "") }
  })
  return [...new Set(routed.map(({ language }) => language))].map((language) => {
    const own = routed.filter((route) => route.language === language)
    const generations = new Set(own.map(({ generation }) => generation))
    return {
      free: [...generations].reduce((sum, generation) => sum + generation.freeSlots(language), 0),
      otherGraphs: routed.filter((route) => route.language !== language).map(({ graphId }) => graphId),
    }
  })
}
