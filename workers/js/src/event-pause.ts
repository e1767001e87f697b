/** Whether a run may send events: the server pauses a run whose readers are behind (W9). */

export class EventPause {
  #over: Promise<void> | undefined
  #end: () => void = () => undefined

  begin(): void {
    this.#over ??= new Promise((resolve) => {
      this.#end = resolve
    })
  }

  end(): void {
    this.#over = undefined
    this.#end()
  }

  /** What to wait for before more is sent; undefined while nothing is paused. */
  over(): Promise<void> | undefined {
    return this.#over
  }
}
