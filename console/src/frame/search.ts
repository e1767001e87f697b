/** What a page keeps in its address behind the `?`: filters, a chosen row. Links to it show the same. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback } from "react"

export type RawSearch = Readonly<Record<string, unknown>>

/**
 * @param parse  makes the page's own type of what the address says; must accept everything
 * @returns      the present values, and a function that changes some (undefined removes one)
 */
export function useSearchState<Search extends object>(
  parse: (raw: RawSearch) => Search,
): [Search, (change: Partial<{ [Key in keyof Search]: Search[Key] | undefined }>) => void] {
  const raw = useSearch({ strict: false }) as RawSearch
  const navigate = useNavigate()
  const change = useCallback(
    (values: object) => {
      void navigate({ to: ".", replace: true, search: ((present: RawSearch) => ({ ...present, ...values })) as never })
    },
    [navigate],
  )
  return [parse(raw), change]
}

/** A text of the address; numbers and booleans are parsed by the router, and read back here. */
export const textIn = (raw: RawSearch, name: string): string | undefined => {
  const value = raw[name]
  return value === undefined || value === null || typeof value === "object" ? undefined : String(value)
}

export const oneIn = <Value extends string>(
  raw: RawSearch,
  name: string,
  values: readonly Value[],
): Value | undefined => values.find((value) => value === raw[name])
