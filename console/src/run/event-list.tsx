/** The raw events of a run, as its stream had them. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useRef, useState } from "react"
import { Empty } from "../frame/empty.js"
import { durationText } from "../frame/time-text.js"
import { JsonView } from "../json-editor/json-view.js"
import { maxEvents } from "./read-run.js"
import type { RunInfo, TimedEvent } from "./run-data.js"

const rowHeight = 30

export function EventList({ run, events }: { run: RunInfo; events: readonly TimedEvent[] }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState(0)
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  })
  const event = events[chosen]
  if (events.length === 0) {
    return (
      <Empty title="No events are kept">
        Events are kept for runs with <code>stream_resumable</code>, until some minutes after their end. What is shown
        in the waterfall comes from the thread's checkpoints.
      </Empty>
    )
  }
  const at = (one: TimedEvent | undefined) =>
    durationText(Date.parse(one?.created_at ?? "") - Date.parse(run.created_at))
  return (
    <>
      {events.length >= maxEvents && (
        <p className="note">
          {maxEvents} events are shown, from {at(events[0])} to {at(events.at(-1))} after the run was created. Its
          others are in the API.
        </p>
      )}
      <div className="run-events">
        <div ref={scroller} className="run-events-list">
          <div className="run-events-rows" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map(({ index, start }) => {
              const one = events[index]
              return (
                <button
                  key={one?.id}
                  type="button"
                  className="run-events-row pick"
                  style={{ transform: `translateY(${start}px)`, height: rowHeight }}
                  aria-current={index === chosen ? "true" : undefined}
                  onClick={() => setChosen(index)}
                >
                  <span className="run-events-time soft number">{at(one)}</span>
                  <span className="run-events-name cut">{one?.event}</span>
                  <span className="soft mono cut">{JSON.stringify(one?.data).slice(0, 120)}</span>
                </button>
              )
            })}
          </div>
        </div>
        {event && (
          <section className="run-events-one" aria-label={`Event ${event.id}`}>
            <h2>{event.event}</h2>
            <p className="faint">id {event.id}</p>
            <JsonView value={event.data} label="Data of the event" />
          </section>
        )}
      </div>
    </>
  )
}
