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

  /** A promise to wait for before sending more; undefined without a pause. */
  over(): Promise<void> | undefined {
    return this.#over
  }
}
