/** What a page shows while it has nothing, and how to change that. */
import type { ReactNode } from "react"

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <div className="empty-text">{children}</div>}
      {action}
    </div>
  )
}

export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{what}…</span>
      <div className="loading-line" />
      <div className="loading-line" />
      <div className="loading-line" />
    </div>
  )
}
