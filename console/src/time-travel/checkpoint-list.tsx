/** The checkpoints of a thread, the newest first, with the lines of its branches beside them. */

import { useMemo } from "react"
import { ListBox, ListBoxItem } from "react-aria-components/ListBox"
import { Button } from "../frame/button.js"
import { GitBranch } from "../frame/icons.js"
import { Ago } from "../frame/time.js"
import { namesOfLanes } from "./branch-names.js"
import { type TreeItem, titleOf, waitsFor } from "./checkpoint-tree.js"
import type { History } from "./history.js"
import { Lanes } from "./lanes.js"

interface Props {
  readonly history: History
  readonly names: Readonly<Record<string, string>>
  readonly selected: string | undefined
  /** undefined: the present state */
  readonly onSelect: (checkpointId: string | undefined) => void
}

export function CheckpointList({ history, names, selected, onSelect }: Props) {
  const { items, lanes, head } = history.tree
  const byId = useMemo(() => new Map(items.map((each) => [each.id, each])), [items])
  const laneNames = useMemo(() => namesOfLanes(items, names), [items, names])
  return (
    <div className="checkpoints">
      <ListBox
        aria-label="Checkpoints"
        className="checkpoints-list"
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[selected ?? head ?? ""]}
        onSelectionChange={(keys) => {
          const [id] = keys === "all" ? [] : keys
          if (id !== undefined) onSelect(id === head ? undefined : String(id))
        }}
      >
        {items.map((each, position) => (
          <ListBoxItem key={each.id} id={each.id} className="checkpoint" textValue={textOf(each, byId)}>
            <Lanes item={each} lanes={lanes} isFirstRow={position === 0} isLastRow={position === items.length - 1} />
            <CheckpointText
              item={each}
              parent={byId.get(each.parentId ?? "")}
              name={each.isTip ? laneNames.get(each.lane) : undefined}
            />
          </ListBoxItem>
        ))}
      </ListBox>
      {history.hasOlder && (
        <Button look="quiet" onPress={history.readOlder} isPending={history.isReadingOlder}>
          Older checkpoints
        </Button>
      )}
    </div>
  )
}

const textOf = (each: TreeItem, byId: ReadonlyMap<string, TreeItem>): string =>
  titleOf(each.item, byId.get(each.parentId ?? "")?.item)

function CheckpointText({
  item,
  parent,
  name,
}: {
  item: TreeItem
  parent: TreeItem | undefined
  name: string | undefined
}) {
  const { metadata, created_at } = item.item
  const waits = waitsFor(item.item)
  return (
    <span className="checkpoint-text">
      <span className="checkpoint-title">
        {titleOf(item.item, parent?.item)}
        {item.isHead && <span className="checkpoint-tag checkpoint-now">now</span>}
        {waits === "answer" && <span className="checkpoint-tag checkpoint-waits">waits for an answer</span>}
        {waits === "error" && <span className="checkpoint-tag checkpoint-failed">failed</span>}
        {name !== undefined && (
          <span className="checkpoint-tag checkpoint-name">
            <GitBranch size={11} aria-hidden /> {name}
          </span>
        )}
      </span>
      <span className="checkpoint-when number">
        step {String(metadata?.step ?? "?")}
        {created_at && (
          <>
            {" · "}
            <Ago at={created_at} />
          </>
        )}
      </span>
    </span>
  )
}
