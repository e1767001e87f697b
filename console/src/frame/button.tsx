/** A button. A disabled one says why, to everyone who points at it or reaches it by keyboard. */
import type { ReactNode } from "react"
import { Button as AriaButton } from "react-aria-components/Button"
import { Tooltip, TooltipTrigger } from "react-aria-components/Tooltip"

export interface ButtonProps {
  readonly children: ReactNode
  readonly onPress?: () => void
  readonly type?: "button" | "submit"
  /** `quiet` has no border; `primary` is the one thing to do on a page. */
  readonly look?: "plain" | "primary" | "danger" | "danger-fill" | "quiet"
  /** Why it cannot be pressed now; undefined if it can. */
  readonly disabledBecause?: string | undefined
  readonly isPending?: boolean
  readonly tip?: string
  readonly label?: string
  /** Another element leads to it: in a list, the tab key reaches only the current row. */
  readonly isSkippedByTab?: boolean
}

export function Button(props: ButtonProps) {
  const { children, onPress, type = "button", look = "plain", disabledBecause, isPending = false, tip, label } = props
  const { isSkippedByTab = false } = props
  const isBlocked = disabledBecause !== undefined
  const canPress = !isBlocked && !isPending
  // A button that is really disabled takes no focus, so nobody would learn the reason. The pending state of the package announces
  // elements that may be gone, so it is our own.
  const button = (
    <AriaButton
      type={canPress ? type : "button"}
      className={`button button-${look}`}
      {...(canPress ? onPress && { onPress } : { "aria-disabled": true })}
      {...(isBlocked && { "data-blocked": true })}
      {...(isPending && { "aria-busy": true, "data-pending": true })}
      {...(label !== undefined && { "aria-label": label })}
      excludeFromTabOrder={isSkippedByTab}
    >
      {children}
    </AriaButton>
  )
  const text = disabledBecause ?? tip
  if (text === undefined) return button
  return (
    <TooltipTrigger delay={400}>
      {button}
      <Tooltip className="tooltip" offset={6}>
        {text}
      </Tooltip>
    </TooltipTrigger>
  )
}

/** The reason for all buttons that a key of scope `read`, or a person of that role, may not press. */
export const onlyReads = "You may only read here. Sign in with an account or a key that may write."

/** The reason for buttons that answer an agent, go on without an input, go back to a checkpoint, set breakpoints or change a thread's state. */
export const approvalRefusal = ({ mayRun, mayApprove }: Rights): string | undefined =>
  mayApprove ? undefined : mayRun ? "This needs the role approve. Ask an admin for it." : onlyReads

interface Rights {
  readonly mayRun: boolean
  readonly mayApprove: boolean
}
