/** The format of requests and replies about host names. */
import { z } from "@hono/zod-openapi"
import { type HostName, hostNameStatuses, statusOf } from "../host-names/host-name.js"
import { text } from "../http/fields.js"

export const hostNameFields = {
  name: text.openapi({ description: "a host name that leads to the platform, such as `agent.example.com`" }),
}
export const hostNameBody = z.object(hostNameFields)

export const hostNameReply = z
  .object({
    name: z.string().openapi({ description: "in lower case, with IDNA's ASCII form of other letters" }),
    url: z.string().openapi({ description: "the deployment's API at this name" }),
    status: z.enum(hostNameStatuses).openapi({
      description:
        "pending: the certificate authority has not answered yet; active: requests reach the deployment; failed: the authority refused the name, or its certificate has expired",
    }),
    failure: z.string().nullable().openapi({
      description: "why the last try to get a certificate failed; also of an active name whose renewal fails",
    }),
    certificate_expires_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "null without a certificate of its own: that of the operator is used" }),
    next_try_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "when a certificate is requested or renewed; null: never" }),
    created_at: z.iso.datetime(),
  })
  .openapi("HostName")

export const hostNamesReply = z.object({ resources: z.array(hostNameReply) })

/** @param scheme  of the platform's public address for agents */
export const renderHostName = (row: HostName, scheme: "http" | "https"): z.input<typeof hostNameReply> => ({
  name: row.host_name,
  url: `${scheme}://${row.host_name}`,
  status: statusOf(row, new Date()),
  failure: row.failure,
  certificate_expires_at: row.valid_until?.toISOString() ?? null,
  next_try_at: row.next_try_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
})
