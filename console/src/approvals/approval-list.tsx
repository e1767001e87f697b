/** The questions that wait, one row each. Enter opens one, Space marks it. */
import { Checkbox } from "react-aria-components/Checkbox"
import { GridList, GridListItem, type Selection } from "react-aria-components/GridList"
import { Ago } from "../frame/time.js"
import { summaryOf } from "./interrupt.js"
import type { WaitingInterrupt } from "./waiting.js"

interface ApprovalListProps {
  readonly waiting: readonly WaitingInterrupt[]
  readonly chosen: string | undefined
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: Selection) => void
  readonly onChoose: (key: string) => void
}

export function ApprovalList({ waiting, chosen, selected, onSelect, onChoose }: ApprovalListProps) {
  return (
    <GridList
      className="approvals-list"
      aria-label="Waiting questions"
      selectionMode="multiple"
      selectedKeys={selected}
      onSelectionChange={onSelect}
      onAction={(key) => onChoose(String(key))}
    >
      {waiting.map(({ key, title, question, graphId, threadId, since }) => (
        <GridListItem
          key={key}
          id={key}
          textValue={title}
          className={key === chosen ? "approvals-row approvals-row-chosen" : "approvals-row"}
        >
          <Mark />
          {/* A press on the text opens the question, also while others are marked. */}
          <button type="button" className="approvals-open" tabIndex={-1} onClick={() => onChoose(key)}>
            <span className="pick-name cut">{title}</span>
            <span className="pick-name cut note">
              {[summaryOf(question), graphId ?? ""].filter(Boolean).join(" · ")} ·{" "}
              <span className="mono">{threadId.slice(-8)}</span>
            </span>
          </button>
          <span className="note number">
            <Ago at={since} />
          </span>
        </GridListItem>
      ))}
    </GridList>
  )
}

const Mark = () => (
  <Checkbox slot="selection" className="approvals-mark">
    <span className="checkbox-box" aria-hidden />
  </Checkbox>
)
