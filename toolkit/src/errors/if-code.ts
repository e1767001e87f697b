/**
 * For `catch`: treats some system errors as a value.
 * @param codes  such as `ENOENT`; an error with any other code, or with none, is rethrown
 */
export const ifCode =
  <Value = undefined>(codes: readonly string[], value?: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (!codes.includes(error.code ?? "")) throw error
    // Without a value the result is `undefined`, which is then the type `Value`.
    return value as Value
  }

/** There is no such file, or there cannot be, since a part of the path is a file. */
export const missing: readonly string[] = ["ENOENT", "ENOTDIR"]
