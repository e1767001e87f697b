/** What a table is in: it scrolls sideways by itself where the window is too narrow, also by keyboard. */
import { type ReactNode, useEffect, useRef, useState } from "react"

interface TableBoxProps {
  readonly label: string
  readonly children: ReactNode
}

export function TableBox({ label, children }: TableBoxProps) {
  const box = useRef<HTMLDivElement>(null)
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const { current } = box
    if (!current) return
    const observer = new ResizeObserver(() => setScrolls(current.scrollWidth > current.clientWidth))
    for (const sized of [current, ...current.children]) observer.observe(sized)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={box} className="card table-box" {...(scrolls && { tabIndex: 0, role: "group", "aria-label": label })}>
      {children}
    </div>
  )
}
