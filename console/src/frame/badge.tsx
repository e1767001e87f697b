/** A status: a word with a colour, never a colour alone. */
import type { ReactNode } from "react"

export type Tone = "good" | "busy" | "warn" | "bad" | "idle"

export function Badge({ tone, children, isMoving = false }: { tone: Tone; children: ReactNode; isMoving?: boolean }) {
  return (
    <span className={`badge badge-${tone}`}>
      <span className={isMoving ? "badge-dot badge-dot-moving" : "badge-dot"} aria-hidden />
      {children}
    </span>
  )
}
