/** Of rows that come as any JSON. */
type Fields = Readonly<Record<string, unknown>>

/**
 * Some fields of each row, for a comparison that fits on a line: `assert.deepEqual(fieldsOf(runs, "status"), ["success"])`.
 * @returns  of each row the value of the field; of several fields, a list of their values
 */
export function fieldsOf<Row = Fields, Field extends keyof Row = keyof Row>(
  rows: readonly Row[],
  field: Field,
): Row[Field][]
export function fieldsOf<Row = Fields, const Names extends readonly (keyof Row)[] = readonly (keyof Row)[]>(
  rows: readonly Row[],
  ...fields: Names
): { -readonly [Index in keyof Names]: Row[Names[Index] & keyof Row] }[]
export function fieldsOf<Row>(rows: readonly Row[], ...fields: readonly (keyof Row)[]): unknown[] {
  return rows.map((row) => (fields.length === 1 ? row[fields[0] as keyof Row] : fields.map((field) => row[field])))
}
