/**
 * Creates a resource under an id that the client chose, or finds the one that has it. Each further round means that another client has deleted it.
 * @param create    @returns undefined when the id is taken
 * @param find      @returns undefined when the id is free: what had it was deleted after `create`, which is asked again
 * @param mayExist  whether the client wants the existing one
 * @returns         undefined when the id is taken, and the client does not want the one that has it, or may not see it
 */
export async function createOrFind<Row extends object>({
  create,
  find,
  mayExist,
}: {
  readonly create: () => Promise<Row | undefined>
  readonly find: () => Promise<(Row & { readonly is_visible: boolean }) | undefined>
  readonly mayExist: boolean
}): Promise<Row | undefined> {
  for (;;) {
    const created = await create()
    if (created !== undefined || !mayExist) return created
    const found = await find()
    if (found !== undefined) return found.is_visible ? found : undefined
  }
}
