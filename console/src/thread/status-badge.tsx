/** The status of a thread: a word with a mark of its own shape, so that it does not depend on colours. */
const marks: Readonly<Record<string, string>> = { idle: "○", busy: "●", interrupted: "❚❚", error: "✕" }

export const StatusBadge = ({ status }: { status: string }) => (
  <span className={`thread-status thread-status-${status}`}>
    <span className="thread-status-mark" aria-hidden>
      {marks[status] ?? "○"}
    </span>
    {status}
  </span>
)
