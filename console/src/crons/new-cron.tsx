/** Creates a cron whose runs get threads of their own. */
import type { UseMutationResult } from "@tanstack/react-query"
import { useId, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { useAssistants } from "../assistants/use-assistants.js"
import { Button, onlyReads } from "../frame/button.js"
import { Dialog } from "../frame/dialog.js"
import { Field } from "../frame/field.js"
import { Plus } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import type { NewCron } from "./cron-data.js"
import { inZone, nextFirings } from "./firings.js"

type Creating = UseMutationResult<unknown, Error, NewCron>

export function NewCronDialog({ create }: { create: Creating }) {
  const { mayRun } = useAgent()
  const children = (
    <>
      <Plus size={14} aria-hidden /> New cron
    </>
  )
  return (
    <Dialog title="New cron" button={{ look: "primary", disabledBecause: mayRun ? undefined : onlyReads, children }}>
      {(close) => <NewCronForm create={create} close={close} />}
    </Dialog>
  )
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
const shownFirings = 3

function NewCronForm({ create, close }: { create: Creating; close: () => void }) {
  const id = useId()
  const assistants = useAssistants()
  const [assistantId, setAssistantId] = useState(assistants[0]?.assistant_id ?? "")
  const [schedule, setSchedule] = useState("0 8 * * 1-5")
  const [timezone, setTimezone] = useState(ownZone)
  const [input, setInput] = useState<unknown>({})
  const [keepsThreads, setKeepsThreads] = useState(true)
  const zone = timezone.trim() === "" ? null : timezone.trim()
  const firings = nextFirings(schedule, zone, { after: new Date(), count: shownFirings })
  const because =
    input === undefined ? "Correct the input first." : assistantId === "" ? "The agent has no assistant." : undefined
  const send = () => {
    if (because !== undefined) return
    create.mutate(
      { assistant_id: assistantId, schedule, timezone: zone ?? undefined, input, keepsThreads },
      { onSuccess: close },
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <div>
        <label htmlFor={id}>Assistant</label>
        <select id={id} value={assistantId} onChange={({ target }) => setAssistantId(target.value)}>
          {assistants.map(({ assistant_id, name }) => (
            <option key={assistant_id} value={assistant_id}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <Field
        label="Schedule"
        value={schedule}
        onChange={setSchedule}
        isRequired
        help="minute, hour, day of the month, month, day of the week; or a name such as @daily"
      />
      <Field label="Time zone" value={timezone} onChange={setTimezone} help="Such as Europe/Berlin; empty means UTC." />
      <p className="crons-preview" aria-live="polite">
        {firings.length === 0
          ? "This schedule is not due yet: complete it."
          : `Next: ${firings.map((time) => inZone(time, zone)).join(" · ")}`}
      </p>
      <JsonEditor label="Input of each run" value={{}} onChange={setInput} />
      <label className="field-check">
        <input type="checkbox" checked={keepsThreads} onChange={({ target }) => setKeepsThreads(target.checked)} />
        Keep the thread of each run
      </label>
      {create.error && <Problem error={create.error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button look="primary" type="submit" isPending={create.isPending} disabledBecause={because}>
          Create
        </Button>
      </div>
    </form>
  )
}
