/** A scrolling list that stays at its end while it grows, unless the reader has scrolled away. */
import { type ReactNode, useEffect, useRef } from "react"

// A reader within this distance of the end wants to see what comes.
const nearPx = 80

export function StickToEnd({ children }: { children: ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const [box, inner] = [scroller.current, content.current]
    if (!box || !inner) return undefined
    let isAtEnd = true
    const note = () => {
      isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx
    }
    const stick = () => {
      if (isAtEnd) box.scrollTop = box.scrollHeight
    }
    const observer = new ResizeObserver(stick)
    observer.observe(inner)
    observer.observe(box)
    box.addEventListener("scroll", note, { passive: true })
    return () => {
      observer.disconnect()
      box.removeEventListener("scroll", note)
    }
  }, [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={scroller} className="chat-scroller" tabIndex={0} role="log" aria-label="Messages">
      <div ref={content} className="chat-messages">
        {children}
      </div>
    </div>
  )
}
