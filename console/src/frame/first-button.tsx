/** A button of the first screen, which looks like `Button` and loads no package for it: it is never disabled and has no tip. */
import type { ReactNode } from "react"

export interface FirstButtonProps {
  readonly children: ReactNode
  readonly onPress: () => void
  readonly look?: "plain" | "quiet"
  readonly label?: string
}

export const FirstButton = ({ children, onPress, look = "plain", label }: FirstButtonProps) => (
  <button
    type="button"
    className={`button button-${look}`}
    aria-label={label}
    onClick={({ currentTarget }) => {
      // Safari gives a pressed button no focus, and a dialog that closes returns the focus to what had it.
      currentTarget.focus()
      onPress()
    }}
  >
    {children}
  </button>
)
