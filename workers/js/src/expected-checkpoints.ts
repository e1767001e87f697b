/**
 * Which checkpoints are saved, or on their way. LangGraph saves a checkpoint after the one before it is saved, so the first
 * writes of its tasks, such as an interrupt, may be asked for earlier than the checkpoint that they belong to.
 */
export class ExpectedCheckpoints {
  /** Ids of those that the server has, or that were asked to be saved. */
  readonly #known = new Set<string>()
  /** Those that writes came for before they came themselves. */
  readonly #expected = new Map<
    string,
    { readonly saved: Promise<unknown>; readonly settle: (saved: unknown) => void }
  >()

  /** The server has this checkpoint. @param saved  settles when it has it, if that is still to come */
  add(id: string, saved?: Promise<unknown>): void {
    this.#known.add(id)
    this.#expected.get(id)?.settle(saved)
    this.#expected.delete(id)
  }

  /** Writes came for this checkpoint. */
  expect(id: string): void {
    if (this.#known.has(id) || this.#expected.has(id)) return
    const { promise: saved, resolve: settle } = withResolvers()
    // Who asked for the checkpoint hears of its failure.
    saved.catch(() => undefined)
    this.#expected.set(id, { saved, settle })
  }

  /** What settles when all that are expected now are saved. */
  all(): Promise<unknown>[] {
    return [...this.#expected.values()].map(({ saved }) => saved)
  }

  /** None will come any more. */
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
