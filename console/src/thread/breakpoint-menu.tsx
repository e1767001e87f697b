/** The dot on a node of the graph: whether runs stop there, and the menu that changes it. */
import { useContext } from "react"
import { Button as AriaButton } from "react-aria-components/Button"
import { Menu, MenuItem, MenuTrigger } from "react-aria-components/Menu"
import { Popover } from "react-aria-components/Popover"
import { BreakpointContext, breakpointsOf, canBreakAt, type When, withBreakpoint } from "../composer/breakpoints.js"
import { Check } from "../frame/icons.js"

const choices: readonly { readonly when: When; readonly text: string }[] = [
  { when: "before", text: "Stop before it" },
  { when: "after", text: "Stop after it" },
]

export function BreakpointMenu({ nodeId, label }: { nodeId: string; label: string }) {
  const state = useContext(BreakpointContext)
  if (!state || !canBreakAt(nodeId)) return null
  const { options, change } = state
  const set = breakpointsOf(options, nodeId)
  const toggle = (when: When) => change(withBreakpoint(options, { node: nodeId, when, isSet: !set.includes(when) }))
  const words = set.length === 0 ? "none" : set.join(" and ")
  return (
    <MenuTrigger>
      {/* Not dragged and not panned with the drawing. */}
      <AriaButton
        className="breakpoint nodrag nopan"
        aria-label={`Breakpoints of ${label}: ${words}`}
        data-set={set.join(" ")}
      >
        <span className="breakpoint-dot" aria-hidden />
      </AriaButton>
      <Popover className="popover" placement="bottom start">
        <Menu
          className="menu"
          aria-label={`Breakpoints of ${label}`}
          selectionMode="multiple"
          selectedKeys={set}
          onAction={(key) => toggle(key as When)}
        >
          {choices.map(({ when, text }) => (
            <MenuItem key={when} id={when} className="menu-item">
              {text}
              {set.includes(when) && <Check size={13} aria-hidden />}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
