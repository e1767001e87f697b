/** What all forms of answers share. */
import type { ReactNode } from "react"
import { Button } from "../frame/button.js"
import type { Interrupt } from "./interrupt.js"

export interface AnswerFormProps {
  readonly interrupt: Interrupt
  readonly onAnswer: (answer: unknown) => void
  /** Why it cannot be answered now. */
  readonly disabledBecause?: string | undefined
  readonly isPending?: boolean
  /** Whether the question itself is shown elsewhere. */
  readonly hidesQuestion?: boolean
}

type SendProps = Pick<AnswerFormProps, "disabledBecause" | "isPending"> & { onPress?: () => void; children: ReactNode }

export function Send({ disabledBecause, isPending = false, onPress, children }: SendProps) {
  const isForm = onPress === undefined
  return (
    <div>
      <Button
        look="primary"
        type={isForm && disabledBecause === undefined ? "submit" : "button"}
        {...(onPress && { onPress })}
        disabledBecause={disabledBecause}
        isPending={isPending}
      >
        {children}
      </Button>
    </div>
  )
}
