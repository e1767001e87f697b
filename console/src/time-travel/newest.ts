/** Joins the newest checkpoints of a thread with those that were read before. Pure. */
import type { HistoryItem } from "./checkpoint-tree.js"

/**
 * @param newest  the newest checkpoints
 * @param known   what was read before
 * @returns  both, each checkpoint once; undefined if there is a gap between them
 */
export function withNewest(newest: readonly HistoryItem[], known: readonly HistoryItem[]): HistoryItem[] | undefined {
  const again = new Set(newest.map(idOf))
  const others = known.filter((item) => !again.has(idOf(item)))
  return others.length < known.length || known.length === 0 ? [...newest, ...others] : undefined
}

const idOf = ({ checkpoint }: HistoryItem) => checkpoint.checkpoint_id
