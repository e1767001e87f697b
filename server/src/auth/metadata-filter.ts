/** The conditions of an access rule on metadata (agent-server-api §12.3). Pure. */

/** A value, or an operator with its operand. A list under `$contains` means that all of its values must be contained. */
export type FieldCondition =
  | string
  | number
  | boolean
  | null
  | { readonly $eq: unknown }
  | { readonly $contains: unknown }

/** All fields must match; `$and` and `$or` hold lists of filters. */
export interface MetadataFilter {
  readonly $and?: readonly MetadataFilter[]
  readonly $or?: readonly MetadataFilter[]
  readonly [field: string]: FieldCondition | readonly MetadataFilter[] | undefined
}
