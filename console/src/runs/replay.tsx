/** A dialog that starts a run from a checkpoint of a run of the list. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { ListBox, ListBoxItem } from "react-aria-components/ListBox"
import { useAgent } from "../agent/use-agent.js"
import { Button } from "../frame/button.js"
import { DialogEnd, OpenDialog } from "../frame/dialog.js"
import { Loading } from "../frame/empty.js"
import { Play } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { Exactly } from "../frame/time.js"
import { readCheckpoints } from "../run/read-run.js"
import type { StateInfo } from "../run/run-data.js"
import { idOf } from "../run/states.js"
import { titleOf } from "../time-travel/checkpoint-tree.js"
import { useReplay } from "../time-travel/replay.js"
import type { ListedRun } from "./run-pages.js"

interface Props {
  readonly run: ListedRun
  readonly onClose: () => void
}

/** Below the run's agent. */
export const Replay = ({ run, onClose }: Props) => (
  <OpenDialog title={`Replay run ${run.run_id.slice(-8)}`} onClose={onClose}>
    <p className="dialog-text">
      A new run does again what comes after the checkpoint. What came after it until now stays in the thread, as a
      branch.
    </p>
    <Choice run={run} />
  </OpenDialog>
)

function Choice({ run }: Pick<Props, "run">) {
  const agent = useAgent()
  const { run_id: runId, thread_id: threadId, assistant_id: assistantId } = run
  const { data: states, error } = useQuery({
    queryKey: ["checkpoints", agent.url, runId],
    queryFn: () => readCheckpoints(agent, { threadId, runId }),
    staleTime: 0,
  })
  const [chosen, choose] = useState<string>()
  const { replay, isPending, error: refused, refusal } = useReplay({ threadId, assistantId })
  if (error) return <Problem error={error} />
  if (!states) return <Loading what="Loading the checkpoints" />
  const selected = chosen ?? states.filter(hasNext).map(idOf)[0]
  return (
    <>
      {states.length === 0 ? (
        <p className="faint">The run has saved no checkpoint.</p>
      ) : (
        <Checkpoints states={states} selected={selected} onSelect={choose} />
      )}
      <DialogEnd error={refused}>
        <Button
          look="primary"
          isPending={isPending}
          disabledBecause={
            refusal ?? (selected === undefined ? "It has no checkpoint that something follows." : undefined)
          }
          onPress={() => selected !== undefined && replay(selected)}
        >
          <Play size={14} aria-hidden /> Replay from it
        </Button>
      </DialogEnd>
    </>
  )
}

interface CheckpointsProps {
  /** Newest first. */
  readonly states: readonly StateInfo[]
  readonly selected: string | undefined
  readonly onSelect: (checkpointId: string) => void
}

function Checkpoints({ states, selected, onSelect }: CheckpointsProps) {
  const parentOf = ({ parent_checkpoint: parent }: StateInfo) =>
    states.find((state) => idOf(state) === parent?.checkpoint_id)
  return (
    <ListBox
      aria-label="Checkpoints of the run"
      className="runs-checkpoints"
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={selected === undefined ? [] : [selected]}
      disabledKeys={states.filter((state) => !hasNext(state)).map((state) => idOf(state) ?? "")}
      onSelectionChange={(keys) => {
        const [id] = keys === "all" ? [] : keys
        if (id !== undefined) onSelect(String(id))
      }}
    >
      {states.map((state) => {
        const title = titleOf(state, parentOf(state))
        return (
          <ListBoxItem key={idOf(state)} id={idOf(state) ?? ""} className="runs-checkpoint" textValue={title}>
            <span>{title}</span>
            <span className="faint">next: {nextOf(state)}</span>
            {state.created_at && <Exactly className="faint number" at={state.created_at} />}
          </ListBoxItem>
        )
      })}
    </ListBox>
  )
}

const nextOf = ({ next }: StateInfo): string =>
  next.map((name) => (name === "__start__" ? "the start" : name)).join(", ") || "the end"

const hasNext = ({ next }: StateInfo): boolean => next.length > 0
