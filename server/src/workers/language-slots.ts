/** Free slots by language: a run executes in a worker of its graph's language, so slots of another one do not help it (R13). */

export interface LanguageSlots {
  /** How many more runs the workers of this language take. */
  readonly free: number
  /** Graphs of the other languages. Every other run may take a slot; for a graph that no worker has, its end is an error. */
  readonly otherGraphs: readonly string[]
}

/** Which slots a run of the graph may take. Pure. */
export const takes = ({ otherGraphs }: LanguageSlots, graphId: string): boolean => !otherGraphs.includes(graphId)

/** The slots that remain when a run of each given graph takes one. Pure. */
export const slotsWithout = (slots: readonly LanguageSlots[], graphIds: readonly string[]): readonly LanguageSlots[] =>
  graphIds.length === 0
    ? slots
    : slots.map((one) => {
        const taken = graphIds.filter((graphId) => takes(one, graphId)).length
        return { ...one, free: Math.max(0, one.free - taken) }
      })

/** How many more runs may execute, whatever their graphs: the language with the fewest free slots decides. Pure. */
export const slotsForAnyGraph = (slots: readonly LanguageSlots[]): number =>
  slots.length === 0 ? 0 : Math.min(...slots.map(({ free }) => free))
