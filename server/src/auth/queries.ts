/** SQL conditions that restrict statements to what the caller may see. */
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { FieldCondition, MetadataFilter } from "./metadata-filter.js"

/**
 * The SQL condition of an access filter, for `where`.
 * @param metadata  a `jsonb` expression, such as `threads.searchable_metadata`
 * @param filter    undefined gives `true`
 */
export function matchesFilter(metadata: Sql, filter: MetadataFilter | undefined): Sql {
  const conditions = Object.entries(filter ?? {}).map(([field, condition]) => {
    if (field === "$and") return allOf(metadata, condition as readonly MetadataFilter[])
    if (field === "$or") return anyOf(metadata, condition as readonly MetadataFilter[])
    return fieldMatches(metadata, field, condition as FieldCondition)
  })
  return conditions.length === 0 ? sql`true` : sql`(${joinSql(conditions, " and ")})`
}

const allOf = (metadata: Sql, filters: readonly MetadataFilter[]): Sql =>
  filters.length === 0
    ? sql`true`
    : joinSql(
        filters.map((filter) => matchesFilter(metadata, filter)),
        " and ",
      )

const anyOf = (metadata: Sql, filters: readonly MetadataFilter[]): Sql =>
  filters.length === 0
    ? sql`false`
    : sql`(${joinSql(
        filters.map((filter) => matchesFilter(metadata, filter)),
        " or ",
      )})`

// `@>` uses the index on metadata, and a missing field never matches. For lists `@>` means "contains all of these", which
// is `$contains`. `$eq` also compares with `=`, because `@>` matches lists and objects that contain more than the value.
function fieldMatches(metadata: Sql, field: string, condition: FieldCondition): Sql {
  if (typeof condition === "object" && condition !== null && "$contains" in condition) {
    return sql`${metadata} @> ${jsonb({ [field]: [condition.$contains].flat() })}`
  }
  const value = typeof condition === "object" && condition !== null && "$eq" in condition ? condition.$eq : condition
  return sql`(${metadata} @> ${jsonb({ [field]: value })} and ${metadata} -> ${field} = ${jsonb(value)})`
}

// Encoded in the same way as the searchable copy of the metadata (functions/metadata.sql).
const jsonb = (value: unknown): Sql => sql`${toJsonbText(toJsonText(value))}::jsonb`
