/** Goes to a page, a deployment, or a thread by its id, from anywhere: Ctrl+K. */
import { useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Autocomplete } from "react-aria-components/Autocomplete"
import { Dialog } from "react-aria-components/Dialog"
import { Input } from "react-aria-components/Input"
import { Menu, MenuItem } from "react-aria-components/Menu"
import { Modal, ModalOverlay } from "react-aria-components/Modal"
import { SearchField } from "react-aria-components/SearchField"
import { itemsFor, keyboardHelp, type NamedDeployment, threadIdIn } from "./palette-items.js"
import type { PlaceGroup } from "./places.js"

/** The addresses of the pages of a thread, with the agent's name: several agents may be asked. */
export type FindThread = (threadId: string) => Promise<readonly { readonly to: string; readonly agent: string }[]>

export interface PaletteProps {
  readonly groups: readonly PlaceGroup[]
  readonly deployments: readonly NamedDeployment[]
  readonly findThread: FindThread
  readonly onHelp: () => void
  readonly onClose: () => void
}

export function Palette({ groups, deployments, findThread, onHelp, onClose }: PaletteProps) {
  const [typed, setTyped] = useState("")
  const navigate = useNavigate()
  const threadId = threadIdIn(typed)
  const threads = useQuery({
    queryKey: ["palette-thread", threadId],
    queryFn: () => findThread(threadId ?? ""),
    enabled: threadId !== undefined,
    retry: false,
  })
  const items =
    threadId === undefined
      ? itemsFor(typed, groups, deployments)
      : (threads.data ?? []).map(({ to, agent }) => ({ to, text: `Thread ${threadId.slice(0, 8)}…`, note: agent }))
  const open = (to: string) => {
    if (to === keyboardHelp.to) return onHelp()
    onClose()
    void navigate({ to })
  }
  return (
    <ModalOverlay className="dialog-overlay palette-overlay" isOpen onOpenChange={onClose} isDismissable>
      <Modal className="dialog palette">
        <Dialog aria-label="Go to">
          <Autocomplete inputValue={typed} onInputChange={setTyped}>
            <SearchField aria-label="Page, deployment or id of a thread" autoFocus>
              <Input placeholder="Page, deployment or id of a thread" />
            </SearchField>
            <Menu
              className="menu palette-items"
              aria-label="Places"
              items={items.map((item) => ({ ...item, id: item.to }))}
              onAction={(to) => open(String(to))}
              renderEmptyState={() => <p className="palette-none">{whyNone(threadId, threads)}</p>}
            >
              {({ text, note }) => (
                <MenuItem className="menu-item" textValue={text}>
                  {text}
                  <span className="menu-note">{note}</span>
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function whyNone(threadId: string | undefined, { isPending, error }: { isPending: boolean; error: unknown }): string {
  if (threadId === undefined) return "Nothing has this name. Paste the whole id of a thread to open it."
  if (isPending) return "Looking for the thread…"
  if (error) return error instanceof Error ? error.message : String(error)
  return "No agent that runs has this thread. It may have been deleted, or its agent sleeps."
}
