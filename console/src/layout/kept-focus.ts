/**
 * Keeps the focus near where it was. When what has it is removed (a row is deleted, a list is read again), the browser gives it to nothing,
 * and the next press of Tab would begin at the top of the page.
 */
export function keepFocus(root: HTMLElement, content: HTMLElement): () => void {
  /** The last element with the focus, and what was around it, inside out. */
  let around: readonly Element[] = []
  const remember = ({ target }: FocusEvent) => {
    around = target instanceof Element ? ancestorsOf(target) : []
  }
  // Whoever clicks beside everything wants no focus.
  const forget = () => {
    setTimeout(() => {
      if (document.activeElement === document.body && around[0]?.isConnected) around = []
    })
  }
  const restore = () => {
    if (around[0] === undefined || around[0].isConnected || document.activeElement !== document.body) return
    const near = around.filter((element) => element.isConnected && content.contains(element) && element !== content)
    around = []
    const next = near
      .map((element) => element.querySelector<HTMLElement>(focusable))
      .find((element) => element !== null)
    const target = next ?? content
    target.focus({ preventScroll: true })
  }
  const observer = new MutationObserver(() => {
    if (around[0] && !around[0].isConnected) afterDialogs(restore)
  })
  root.addEventListener("focusin", remember)
  root.addEventListener("focusout", forget)
  observer.observe(root, { childList: true, subtree: true })
  return () => {
    root.removeEventListener("focusin", remember)
    root.removeEventListener("focusout", forget)
    observer.disconnect()
  }
}

/** No fields: on a phone their keyboard would come up. */
const focusable = "button, a[href], [tabindex='0']"

/** A dialog that closes gives the focus back in the next frame. */
const afterDialogs = (act: () => void) => requestAnimationFrame(() => requestAnimationFrame(act))

function ancestorsOf(element: Element): readonly Element[] {
  const found = [element]
  for (let above = element.parentElement; above !== null; above = above.parentElement) found.push(above)
  return found
}
