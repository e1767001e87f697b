/**
 * For `catch`: some of the system's errors are an answer, and stand for a value.
 * @param codes  such as `ENOENT`; an error with any other, or with none, is thrown again
 */
export const ifCode =
  <Value = undefined>(codes: readonly string[], value?: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (!codes.includes(error.code ?? "")) throw error
    // Without a value it is `undefined` that is given, which is then what `Value` is.
    return value as Value
  }

/** Nothing is there, or it cannot be, since a part of the path is a file. */
export const missing: readonly string[] = ["ENOENT", "ENOTDIR"]
