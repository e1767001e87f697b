/** What the palette offers for what was typed. Pure. */
import type { PlaceGroup } from "./places.js"

export interface PaletteItem {
  readonly to: string
  readonly text: string
  /** What it belongs to, or the keys that lead there. */
  readonly note: string
}

export interface NamedDeployment {
  readonly id: string
  readonly name: string
}

/** Leads to the list of keys, which has the switch for those without Ctrl: `?` itself does nothing while they are off. */
export const keyboardHelp: PaletteItem = { to: "?", text: "Keyboard", note: "help" }

// More than a screen of items is not read.
const mostItems = 30

/** The pages, those of the present deployment first, then all deployments and the list of keys; those that have every typed word. */
export function itemsFor(
  typed: string,
  groups: readonly PlaceGroup[],
  deployments: readonly NamedDeployment[],
): readonly PaletteItem[] {
  const pages = [...groups].reverse().flatMap(({ deployment, places }) =>
    places.map(({ to, label, key }) => ({
      to,
      text: deployment === undefined ? label : `${label} of ${deployment}`,
      note: key === undefined ? "page" : `g ${key}`,
    })),
  )
  // The present deployment is there already, as its overview.
  const others = deployments.filter(({ id }) => !pages.some(({ to }) => to === `/deployments/${id}`))
  const agents = others.map(({ id, name }) => ({ to: `/deployments/${id}`, text: name, note: "deployment" }))
  const words = typed.toLowerCase().split(/\s+/)
  const hasAll = ({ text, to }: PaletteItem) => words.every((word) => `${text} ${to}`.toLowerCase().includes(word))
  return [...pages, ...agents, keyboardHelp].filter(hasAll).slice(0, mostItems)
}

/** The id that was typed, or is in an address that was pasted; undefined if there is none. */
export const threadIdIn = (typed: string): string | undefined =>
  /threads\/([0-9a-f-]{36})(?=\W|$)/i.exec(typed)?.[1] ??
  /^\s*([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$/i.exec(typed)?.[1]
