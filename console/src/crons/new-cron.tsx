/** Creates a cron whose runs get threads of their own. */
import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { useAssistants } from "../assistants/use-assistants.js"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, SelectField } from "../forms/field.js"
import { onlyReads } from "../frame/button.js"
import { AddDialog } from "../frame/dialog.js"
import { JsonEditor } from "../json-editor/json-editor.js"
import { useCreateCron } from "./cron-data.js"
import { inZone, nextFirings } from "./firings.js"

export function NewCronDialog() {
  const { mayRun } = useAgent()
  return (
    <AddDialog title="New cron" add="New cron" look="primary" disabledBecause={mayRun ? undefined : onlyReads}>
      <NewCronForm />
    </AddDialog>
  )
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
const shownFirings = 3

function NewCronForm() {
  const create = useCreateCron()
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
  const cron = { assistant_id: assistantId, schedule, timezone: zone ?? undefined, input, keepsThreads }
  return (
    <DialogForm submit="Create" disabledBecause={because} act={() => create(cron)}>
      <SelectField label="Assistant" value={assistantId} onChange={setAssistantId}>
        {assistants.map(({ assistant_id, name }) => (
          <option key={assistant_id} value={assistant_id}>
            {name}
          </option>
        ))}
      </SelectField>
      <Field
        label="Schedule"
        value={schedule}
        onChange={setSchedule}
        isRequired
        help="minute, hour, day of the month, month, day of the week; or a name such as @daily"
      />
      <Field label="Time zone" value={timezone} onChange={setTimezone} help="Such as Europe/Berlin; empty means UTC." />
      <p className="crons-preview note" aria-live="polite">
        {firings.length === 0
          ? "This schedule is not due yet: complete it."
          : `Next: ${firings.map((time) => inZone(time, zone)).join(" · ")}`}
      </p>
      <JsonEditor label="Input of each run" value={{}} onChange={setInput} />
      <label className="field-check">
        <input type="checkbox" checked={keepsThreads} onChange={({ target }) => setKeepsThreads(target.checked)} />
        Keep the thread of each run
      </label>
    </DialogForm>
  )
}
