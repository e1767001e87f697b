/** A part of a page with a heading of its own. */
import { type ReactNode, useId } from "react"

export interface SectionProps {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Section({ title, about, actions, children }: SectionProps) {
  const id = useId()
  return (
    <section className="section" aria-labelledby={id}>
      <div className="section-head">
        <div>
          <h2 id={id}>{title}</h2>
          {about && <p>{about}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  )
}
