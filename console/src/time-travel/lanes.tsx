/** The lines of a tree's branches in one row of the list. */
import type { TreeItem } from "./checkpoint-tree.js"

const laneWidth = 14
const rowHeight = 44
const middle = rowHeight / 2
// With more branches the list would have no room for words.
const maxLanes = 6

const xOf = (lane: number): number => 10 + Math.min(lane, maxLanes - 1) * laneWidth
const colourOf = (lane: number): string => `var(--lane-${lane % 5})`

interface Props {
  readonly item: TreeItem
  readonly lanes: number
  readonly isFirstRow: boolean
  readonly isLastRow: boolean
}

export function Lanes({ item, lanes }: Props) {
  const { lane, passing, forks, isTip, isFirst, parentId } = item
  const width = 20 + (Math.min(lanes, maxLanes) - 1) * laneWidth
  const hasRoot = isFirst && parentId === undefined
  return (
    <svg className="lanes" width={width} height={rowHeight} aria-hidden="true">
      {passing.map((each) => (
        <line key={each} x1={xOf(each)} y1={0} x2={xOf(each)} y2={rowHeight} stroke={colourOf(each)} />
      ))}
      {forks.map((each) => (
        <path
          key={each}
          d={`M ${xOf(each)} 0 C ${xOf(each)} ${middle} ${xOf(lane)} ${middle * 0.4} ${xOf(lane)} ${middle}`}
          stroke={colourOf(each)}
          fill="none"
        />
      ))}
      {!isTip && <line x1={xOf(lane)} y1={0} x2={xOf(lane)} y2={middle} stroke={colourOf(lane)} />}
      {!hasRoot && <line x1={xOf(lane)} y1={middle} x2={xOf(lane)} y2={rowHeight} stroke={colourOf(lane)} />}
      <circle
        cx={xOf(lane)}
        cy={middle}
        r={isTip ? 5 : 4}
        stroke={colourOf(lane)}
        className={isTip ? "lanes-tip" : "lanes-dot"}
      />
    </svg>
  )
}
