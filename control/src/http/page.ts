/** Paged lists: `limit` and `offset` in, the next offset out (control-plane §1.1). */
import { z } from "@hono/zod-openapi"
import type { Context } from "hono"
import { optionalParameter, wholeNumber } from "./fields.js"

export const pageQuery = {
  limit: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 20,
  }),
  offset: optionalParameter(wholeNumber({ min: 0, max: 1_000_000_000 })).openapi({
    type: "integer",
    minimum: 0,
    default: 0,
  }),
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

export const pageOf = (query: { limit?: number | undefined; offset?: number | undefined }): Page => ({
  limit: query.limit ?? 20,
  offset: query.offset ?? 0,
})

export const pageReply = <T extends z.ZodType>(resource: T) =>
  z.object({
    resources: z.array(resource),
    offset: z
      .int()
      .openapi({ description: "the offset of the next page; a page with fewer than `limit` items is the last" }),
  })

/** Renders a page, with the total and the addresses of the neighbouring pages in headers. */
export function sendPage(c: Context, page: Page, { resources, total }: { resources: unknown[]; total: number }) {
  c.header("x-total-count", String(total))
  const links = [
    page.offset > 0 && linkTo(c, { ...page, offset: Math.max(0, page.offset - page.limit) }, "prev"),
    page.offset + resources.length < total && linkTo(c, { ...page, offset: page.offset + page.limit }, "next"),
  ].filter((link) => link !== false)
  if (links.length > 0) c.header("link", links.join(", "))
  return c.json({ resources, offset: page.offset + resources.length })
}

/** Relative, so that it is correct behind any proxy. */
function linkTo(c: Context, { limit, offset }: Page, relation: "prev" | "next"): string {
  const { pathname, searchParams } = new URL(c.req.url)
  searchParams.set("limit", String(limit))
  searchParams.set("offset", String(offset))
  return `<${pathname}?${searchParams}>; rel="${relation}"`
}
