/**
 * Which checkpoints are saved or being saved. LangGraph saves a checkpoint only after the previous one is saved, so it may
 * request the first writes of a checkpoint's tasks, such as an interrupt, before the checkpoint itself.
 */
export class ExpectedCheckpoints {
  /** Ids of checkpoints that the server has, or whose saving was requested. */
  readonly #known = new Set<string>()
  /** Checkpoints whose writes were requested before they were. */
  readonly #expected = new Map<
    string,
    { readonly saved: Promise<unknown>; readonly settle: (saved: unknown) => void }
  >()

  /** Records a checkpoint of the server. @param saved  settles when the server has it, if it does not have it yet */
  add(id: string, saved?: Promise<unknown>): void {
    this.#known.add(id)
    this.#expected.get(id)?.settle(saved)
    this.#expected.delete(id)
  }

  /** Records that writes for this checkpoint were requested. */
  expect(id: string): void {
    if (this.#known.has(id) || this.#expected.has(id)) return
    const { promise: saved, resolve: settle } = withResolvers()
    // The code that saves the checkpoint handles its failure.
    saved.catch(() => undefined)
    this.#expected.set(id, { saved, settle })
  }

  /** Promises that settle when the checkpoints that are expected now are saved. */
  all(): Promise<unknown>[] {
    return [...this.#expected.values()].map(({ saved }) => saved)
  }

  /** Stops waiting: no more checkpoints will come. */
  close(): void {
    for (const { settle } of this.#expected.values()) settle(undefined)
    this.#expected.clear()
  }
}

function withResolvers() {
  let resolve: (value: unknown) => void = () => undefined
  const promise = new Promise<unknown>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
