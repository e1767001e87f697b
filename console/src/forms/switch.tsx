/** Turns something on or off at once. */
import type { ReactNode } from "react"
import { Switch as AriaSwitch, type SwitchProps } from "react-aria-components/Switch"

export function Switch({ children, ...props }: Omit<SwitchProps, "children" | "className"> & { children?: ReactNode }) {
  return (
    <AriaSwitch {...props} className="switch">
      <span className="switch-track" aria-hidden />
      {children}
    </AriaSwitch>
  )
}
