/** One cron of the table. */
import { Link } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { useAssistantName } from "../assistants/use-assistants.js"
import { Switch } from "../forms/switch.js"
import { Button, onlyReads } from "../frame/button.js"
import { Removal } from "../frame/dialog.js"
import { Play } from "../frame/icons.js"
import { exactly, relativeTime } from "../frame/time-text.js"
import type { CronInfo, useCronActions } from "./cron-data.js"
import { inZone, nextFirings, zoneText } from "./firings.js"

const shownFirings = 3

export function CronRow({ cron, actions }: { cron: CronInfo; actions: ReturnType<typeof useCronActions> }) {
  const { mayRun, base } = useAgent()
  const assistant = useAssistantName(cron.assistant_id)
  const blocked = mayRun ? undefined : onlyReads
  const { enable, runNow, remove } = actions
  return (
    <tr>
      <td>
        <Switch
          aria-label={`Cron ${cron.schedule}`}
          isSelected={cron.enabled}
          isDisabled={!mayRun || enable.isPending}
          onChange={(enabled) => enable.mutate({ cronId: cron.cron_id, enabled })}
        />
      </td>
      <td className="crons-schedule">
        <code>{cron.schedule}</code>
        <div className="faint">{zoneText(cron.timezone)}</div>
      </td>
      <td className="crons-times">
        <Next cron={cron} />
      </td>
      <td>{assistant}</td>
      <td>
        {cron.thread_id === null ? (
          <span className="soft">a new one each time</span>
        ) : (
          <Link to={`${base}/threads/${cron.thread_id}`} className="mono">
            {cron.thread_id.slice(-8)}
          </Link>
        )}
      </td>
      <td className="right">
        <div className="crons-actions">
          <Button
            isPending={runNow.isPending && runNow.variables === cron.cron_id}
            disabledBecause={blocked}
            onPress={() => runNow.mutate(cron.cron_id)}
            label={`Run now: ${cron.schedule}`}
          >
            <Play size={13} aria-hidden /> Run now
          </Button>
          <Removal
            title={`Delete the cron ${cron.schedule} of ${assistant}?`}
            label={`Delete ${cron.schedule}`}
            disabledBecause={blocked}
            act={() => remove(cron.cron_id)}
          >
            It creates no more runs. The runs that it created stay.
          </Removal>
        </div>
      </td>
    </tr>
  )
}

/** A cron is due in the future: within a minute, "just now" would be wrong. */
const dueText = (at: number, now: number): string =>
  at > now && at - now < 60_000 ? "in less than a minute" : relativeTime(at, now)

function Next({ cron }: { cron: CronInfo }) {
  const { next_run_date: next, disabled_reason: reason, enabled, schedule, timezone } = cron
  if (reason !== null) return <span className="crons-reason">Switched off by the server: {reason}.</span>
  if (next === null) return <span className="soft">{enabled ? "never again: it has ended" : "switched off"}</span>
  const first = new Date(next)
  const further = nextFirings(schedule, timezone, { after: first, count: shownFirings - 1 })
  return (
    <>
      <time dateTime={next} title={exactly(next)} className="number">
        {inZone(first, timezone)}
      </time>{" "}
      <span className="soft">{dueText(first.getTime(), Date.now())}</span>
      <div className="faint number">
        {further
          .filter((time) => cron.end_time === null || time <= new Date(cron.end_time))
          .map((time) => (
            <span key={time.getTime()}>{inZone(time, timezone)}</span>
          ))}
      </div>
    </>
  )
}
