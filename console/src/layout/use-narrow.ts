/** Whether the window is so narrow that the navigation is in a drawer. The width is that of `layout.css`. */
import { useSyncExternalStore } from "react"

const narrow = matchMedia("(max-width: 900px)")

const onChange = (listener: () => void) => {
  narrow.addEventListener("change", listener)
  return () => narrow.removeEventListener("change", listener)
}

export const useNarrow = (): boolean => useSyncExternalStore(onChange, () => narrow.matches)
