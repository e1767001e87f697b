/** The past of a thread: its checkpoints and one of them. */
import { useState } from "react"
import { useDrawnGraph } from "../assistants/agent-graph.js"
import { Empty, Loading } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { CheckpointDetail, type GoOn } from "./checkpoint-detail.js"
import { CheckpointList } from "./checkpoint-list.js"
import type { TreeItem } from "./checkpoint-tree.js"
import type { History } from "./history.js"

interface Props {
  readonly threadId: string
  readonly assistantId: string
  readonly history: History
  readonly names: Readonly<Record<string, string>>
  readonly selected: TreeItem | undefined
  readonly isRunning: boolean
  readonly onSelect: (checkpointId: string | undefined) => void
  readonly onGoOn: GoOn
}

export function TimeTravel({ threadId, assistantId, history, names, selected, isRunning, onSelect, onGoOn }: Props) {
  const { data: graph } = useDrawnGraph(assistantId)
  const nodes = (graph?.nodes ?? [])
    .map(({ id }) => String(id))
    .filter((id) => !id.includes(":") && !id.startsWith("__"))
  // The edited checkpoint stays selected when a run of another client adds newer ones.
  const [editedId, setEditedId] = useState<string>()
  const edited = history.tree.items.find(({ id }) => id === editedId)
  const shown = edited ?? selected
  const select = (checkpointId: string | undefined) => {
    setEditedId(undefined)
    onSelect(checkpointId)
  }
  return (
    <section className="travel" aria-label="Time travel">
      {history.error !== null && history.error !== undefined && <Problem error={history.error} />}
      {history.isPending && <Loading what="Loading the checkpoints" />}
      {!history.isPending && shown === undefined && (
        <Empty title={isRunning ? "The run has written no checkpoint yet" : "No checkpoints yet"}>
          Every step of a run leaves one: a state to look at, to edit, and to go on from.
        </Empty>
      )}
      {shown && (
        <div className="travel-both">
          <CheckpointList history={history} names={names} selected={shown.id} onSelect={select} />
          <CheckpointDetail
            key={shown.id}
            threadId={threadId}
            item={shown}
            parent={history.tree.items.find(({ id }) => id === shown.parentId)}
            names={names}
            nodes={nodes}
            isRunning={isRunning}
            isEditing={edited !== undefined}
            onEdit={(isEditing) => setEditedId(isEditing ? shown.id : undefined)}
            onGoOn={onGoOn}
          />
        </div>
      )}
    </section>
  )
}
