/** One checkpoint: what it changed, its whole state, and what can be done from it. */
import { useMutation } from "@tanstack/react-query"
import { useMemo } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components/Tabs"
import { useAgent } from "../agent/use-agent.js"
import { approvalRefusal, Button } from "../frame/button.js"
import { Pencil, Play } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { Exactly } from "../frame/time.js"
import { JsonText } from "../messages/json-text.js"
import { BranchName } from "./branch-name.js"
import { ChangeList } from "./change-list.js"
import { type TreeItem, titleOf } from "./checkpoint-tree.js"
import type { StateEdit } from "./edit-checkpoint.js"
import { changesOf } from "./state-diff.js"
import { StateEditor } from "./state-editor.js"
import type { State } from "./state-update.js"

/** Goes on from a checkpoint, with another state if one is given. */
export type GoOn = (checkpointId: string, edit?: StateEdit) => Promise<void>

interface Props {
  readonly threadId: string
  readonly item: TreeItem
  readonly parent: TreeItem | undefined
  readonly names: Readonly<Record<string, string>>
  /** Names of the graph's nodes. */
  readonly nodes: readonly string[]
  readonly isRunning: boolean
  readonly isEditing: boolean
  readonly onEdit: (isEditing: boolean) => void
  readonly onGoOn: GoOn
}

const notWhileRunning = "A run is in flight on this thread: stop it, or wait until it has ended."

export function CheckpointDetail({
  threadId,
  item,
  parent,
  names,
  nodes,
  isRunning,
  isEditing,
  onEdit,
  onGoOn,
}: Props) {
  const refusal = approvalRefusal(useAgent())
  const state = (item.item.values ?? {}) as State
  const going = useMutation({
    mutationFn: (edit?: Parameters<GoOn>[1]) => onGoOn(item.id, edit),
    onSuccess: () => onEdit(false),
  })
  const blocked = refusal ?? (isRunning ? notWhileRunning : undefined)
  const nothingNext =
    item.item.next.length === 0 ? "Nothing comes after this checkpoint. Edit its state, or send a message." : undefined
  return (
    <section className="checkpoint-detail" aria-label="Checkpoint">
      <header className="checkpoint-detail-head">
        <div>
          <h2>{titleOf(item.item, parent?.item)}</h2>
          <DetailFacts item={item} />
        </div>
        <BranchName threadId={threadId} checkpointId={item.id} names={names} />
      </header>
      {isEditing ? (
        <StateEditor
          state={state}
          nodes={nodes}
          isPending={going.isPending}
          error={going.error}
          onGoOn={(after, asNode) => going.mutate({ before: state, after, asNode })}
          onCancel={() => onEdit(false)}
        />
      ) : (
        <>
          <div className="checkpoint-detail-actions">
            <Button look="primary" disabledBecause={blocked} onPress={() => onEdit(true)}>
              <Pencil size={14} aria-hidden /> Edit the state
            </Button>
            <Button
              disabledBecause={blocked ?? nothingNext}
              isPending={going.isPending}
              onPress={() => going.mutate(undefined)}
              tip="Runs what comes next again. What came after it until now stays, as a branch."
            >
              <Play size={14} aria-hidden /> Go on from here
            </Button>
          </div>
          {going.error && <Problem error={going.error} />}
          <Looks item={item} parent={parent} />
        </>
      )}
    </section>
  )
}

function DetailFacts({ item: { id, item } }: { item: TreeItem }) {
  const { metadata, created_at, next } = item
  const attempt = Number(metadata?.run_attempt ?? 1)
  return (
    <p className="checkpoint-detail-facts">
      {created_at && <Exactly at={created_at} />}
      <span>next: {next.length > 0 ? next.join(", ") : "the end"}</span>
      {attempt > 1 && <span className="checkpoint-detail-attempt">attempt {attempt}</span>}
      <code title={id}>
        {id.slice(0, 8)}…{id.slice(-4)}
      </code>
    </p>
  )
}

function Looks({ item, parent }: { item: TreeItem; parent: TreeItem | undefined }) {
  const changes = useMemo(() => changesOf(parent?.item.values ?? {}, item.item.values ?? {}), [item, parent])
  return (
    <Tabs className="travel-tabs">
      <TabList className="tabs travel-tabs-list" aria-label="What to see of the checkpoint">
        <Tab id="changes" className="tabs-one">
          Changes <span className="tabs-count number">{changes.length}</span>
        </Tab>
        <Tab id="state" className="tabs-one">
          State
        </Tab>
      </TabList>
      <TabPanel id="changes" className="travel-tabs-panel">
        <ChangeList changes={changes} none="This step has changed nothing of the state." />
      </TabPanel>
      <TabPanel id="state" className="travel-tabs-panel">
        {Object.entries((item.item.values ?? {}) as State).map(([key, value]) => (
          <div key={key} className="checkpoint-detail-field">
            <h3 className="mono">{key}</h3>
            <JsonText value={value} label={key} />
          </div>
        ))}
      </TabPanel>
    </Tabs>
  )
}
