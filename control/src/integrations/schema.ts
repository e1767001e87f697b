/** What the requests and replies of integrations look like; a token goes in and never comes out. */
import { z } from "@hono/zod-openapi"
import { text } from "../http/fields.js"
import { hostOf, type Integration } from "./integration.js"

const host = z.string().superRefine((value, ctx) => {
  const message = "expected a host, such as github.com, or an http(s) address"
  if (hostOf(value) === undefined) ctx.addIssue({ code: "custom", message })
})

// What ends up in an HTTP header or an askpass reply must be one line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const oneLine = text.regex(/^[^\u0000-\u001f\u007f]+$/, "expected one line of text").max(8192)

export const integrationFields = {
  name: oneLine.max(255),
  host: host.nullish(),
  url: host.nullish().openapi({ description: "any address on the host, in place of `host`" }),
  username: oneLine
    .max(255)
    .regex(/^[^:]*$/, "may not contain a colon")
    .nullish(),
  token: oneLine,
}

export const integrationBody = z
  .object(integrationFields)
  .superRefine((body, ctx) => {
    const hosts = new Set([body.host, body.url].flatMap((value) => (value ? [hostOf(value)] : [])))
    if (hosts.size === 0) ctx.addIssue({ code: "custom", path: ["host"], message: "host or url is required" })
    if (hosts.size > 1) ctx.addIssue({ code: "custom", path: ["url"], message: "names another host than host" })
  })
  .transform(({ url, host: given, ...body }) => ({ ...body, host: hostOf(given ?? url ?? "") ?? "" }))

export const integrationReply = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    kind: z.literal("git"),
    name: z.string(),
    host: z.string(),
    username: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .openapi("Integration")

export const renderIntegration = (row: Integration): z.input<typeof integrationReply> => ({
  id: row.integration_id,
  tenant_id: row.workspace_id,
  kind: row.kind,
  name: row.name,
  host: row.host,
  username: row.username,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
