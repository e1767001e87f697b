/** The past of a thread: its checkpoints and one of them. */
import { Empty, Loading } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { useDrawnGraph } from "../thread/assistants.js"
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
  return (
    <section className="travel" aria-label="Time travel">
      {history.error !== null && history.error !== undefined && <Problem error={history.error} />}
      {history.isPending && <Loading what="Loading the checkpoints" />}
      {!history.isPending && selected === undefined && (
        <Empty title="No checkpoints yet">
          Every step of a run leaves one: a state to look at, to edit, and to go on from.
        </Empty>
      )}
      {selected && (
        <div className="travel-both">
          <CheckpointList history={history} names={names} selected={selected.id} onSelect={onSelect} />
          <CheckpointDetail
            key={selected.id}
            threadId={threadId}
            item={selected}
            parent={history.tree.items.find(({ id }) => id === selected.parentId)}
            names={names}
            nodes={nodes}
            isRunning={isRunning}
            onGoOn={onGoOn}
          />
        </div>
      )}
    </section>
  )
}
