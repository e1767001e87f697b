/** Filters a list by metadata. It says which words it does not use: the list would seem to be filtered by them. */
import { TypedField } from "../frame/filter-fields.js"
import { unreadIn } from "./metadata-pairs.js"

interface MetadataFieldProps {
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

export function MetadataField({ value, onChange }: MetadataFieldProps) {
  const unread = unreadIn(value ?? "")
  return (
    <TypedField
      label="Metadata"
      placeholder="Metadata key:value"
      value={value}
      onChange={onChange}
      problem={unread === undefined ? undefined : `Not used: ${unread}. Write key:value.`}
    />
  )
}
