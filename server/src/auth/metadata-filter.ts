/** The conditions that an access rule puts on metadata (agent-server-api §12.3). Pure. */

/** A value, or an operator on the field's value. A list under `$contains`: all of them. */
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
