/** Listens to the keys of the whole page. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useRef } from "react"
import { isDialogOpen } from "../frame/dialog-waits.js"
import { keptChoice } from "../frame/kept-choice.js"
import type { PlaceGroup } from "./places.js"
import { type Command, readPress } from "./shortcuts.js"

/** Whether keys without Ctrl are shortcuts. Voice control types letters by accident, so a person can turn them off. */
export const letterKeys = keptChoice<"on" | "off">("superstep.letter-keys", ["on", "off"])

export type Overlay = "palette" | "help"

/** @param groups  where `g` and a letter lead @param open  shows the palette or the help */
export function useShortcuts(groups: readonly PlaceGroup[], open: (overlay: Overlay) => void): void {
  const navigate = useNavigate()
  const goingSinceMs = useRef<number>(undefined)
  useEffect(() => {
    const act = (command: Command) => {
      if (command.kind === "go") {
        const place = groups.flatMap(({ places }) => places).find(({ key }) => key === command.key)
        if (place) void navigate({ to: place.to })
      } else if (command.kind !== "search") open(command.kind)
      else if (!focusSearch()) open("palette")
    }
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.altKey) return
      if (event.key === "Shift" || event.key === "Control" || event.key === "Meta") return
      const isModified = event.ctrlKey || event.metaKey
      const press = { key: event.key, isModified, isTaken: isTaken(event.target), atMs: event.timeStamp }
      const reading = readPress(press, goingSinceMs.current, letterKeys.read() === "on")
      goingSinceMs.current = reading.goingSinceMs
      if (!reading.command) return
      // Over a dialog nothing else opens: what was begun there would be lost.
      if (isDialogOpen()) return
      event.preventDefault()
      act(reading.command)
    }
    const onBlur = () => {
      goingSinceMs.current = undefined
    }
    document.addEventListener("keydown", onKeyDown)
    window.addEventListener("blur", onBlur)
    return () => {
      document.removeEventListener("keydown", onKeyDown)
      window.removeEventListener("blur", onBlur)
    }
  }, [groups, navigate, open])
}

// In lists, grids and trees letters choose the entry that begins with them.
const taking =
  "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true], [role=textbox], [role=menu], [role=listbox], [role=grid], [role=treegrid], [role=tree], [role=dialog]"

const isTaken = (target: EventTarget | null): boolean => target instanceof Element && target.closest(taking) !== null

/** @returns  whether the page has a field that searches */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]")
  field?.focus()
  field?.select()
  return field !== null
}
