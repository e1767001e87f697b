/** The format of requests and replies about integrations; a reply never contains a token. */
import { z } from "@hono/zod-openapi"
import { text } from "../http/fields.js"
import { hostOf, type Integration } from "./integration.js"
import type { NewIntegration } from "./operations.js"
import { readSshKey } from "./ssh-key.js"

const host = z.string().superRefine((value, ctx) => {
  const message = "expected a host, such as github.com, or an http(s) address"
  if (hostOf(value) === undefined) ctx.addIssue({ code: "custom", message })
})

// Text for an HTTP header or an askpass reply must be one line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const oneLine = text.regex(/^[^\u0000-\u001f\u007f]+$/, "expected one line of text").max(8192)

// Names (or their hash), a kind of key, a key; no markers such as @cert-authority, which would trust more than one key.
const knownHostsLine = /^[\w.,:[\]|/+=-]+ (ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]+( .*)?$/

const knownHosts = text.max(65_536).superRefine((value, ctx) => {
  const lines = value.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"))
  const isFine = lines.length > 0 && lines.every((line) => knownHostsLine.test(line))
  if (!isFine) ctx.addIssue({ code: "custom", message: "expected lines as ssh-keyscan prints them: host, kind, key" })
})

export const integrationFields = {
  name: oneLine.max(255),
  host: host.nullish(),
  url: host.nullish().openapi({ description: "any address on the host, instead of `host`" }),
  username: oneLine
    .max(255)
    .regex(/^[^:]*$/, "may not contain a colon")
    .nullish(),
  // It is sent in a header.
  token: oneLine.regex(/^[^\u0100-\uffff]+$/, "expected characters of Latin-1").nullish(),
  ssh_private_key: text.max(32_768).nullish().openapi({
    description:
      "instead of `token`, for addresses such as git@host:acme/shop.git: ed25519 or RSA, without a passphrase",
  }),
  known_hosts: knownHosts.nullish().openapi({
    description:
      "the host keys to accept, as `ssh-keyscan` prints them; by default the first key that a host shows is stored and required from then on",
  }),
}

export const integrationBody = z
  .object(integrationFields)
  .superRefine((body, ctx) => {
    const hosts = new Set([body.host, body.url].flatMap((value) => (value ? [hostOf(value)] : [])))
    if (hosts.size === 0) ctx.addIssue({ code: "custom", path: ["host"], message: "host or url is required" })
    if (hosts.size > 1) ctx.addIssue({ code: "custom", path: ["url"], message: "is on another host than `host`" })
    for (const [field, message] of credentialProblems(body)) ctx.addIssue({ code: "custom", path: [field], message })
  })
  .transform(({ url, host: given, name, ...body }) => ({
    name,
    host: hostOf(given ?? url ?? "") ?? "",
    credentials: credentialsIn(body),
  }))

interface GivenCredentials {
  readonly username?: string | null | undefined
  readonly token?: string | null | undefined
  readonly ssh_private_key?: string | null | undefined
  readonly known_hosts?: string | null | undefined
}

function credentialProblems({ username, token, ssh_private_key: key, known_hosts }: GivenCredentials) {
  const problems: [field: string, message: string][] = []
  if (!token && !key) problems.push(["token", "a token or an ssh_private_key is required"])
  if (token && key)
    problems.push(["ssh_private_key", "send either a token or a key: create two integrations to use both"])
  if (known_hosts && !key) problems.push(["known_hosts", "requires an ssh_private_key"])
  if (username && key) problems.push(["username", "requires a token: with ssh the address contains the user"])
  const read = key ? readSshKey(key) : undefined
  if (read && "problem" in read) problems.push(["ssh_private_key", read.problem])
  return problems
}

/** For a validated body. */
function credentialsIn({
  username,
  token,
  ssh_private_key: key,
  known_hosts,
}: GivenCredentials): NewIntegration["credentials"] {
  const read = key ? readSshKey(key) : undefined
  if (!key || !read || "problem" in read) return { auth: "token", username: username ?? null, token: token ?? "" }
  return { auth: "ssh_key", privateKey: key, publicKey: read.publicKey, knownHosts: known_hosts ?? null }
}

export const integrationReply = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    kind: z.literal("git"),
    name: z.string(),
    host: z.string(),
    auth: z.enum(["token", "ssh_key"]),
    username: z.string().nullable(),
    ssh_public_key: z
      .string()
      .nullable()
      .openapi({ description: "add it to the repository at the host as a deploy key" }),
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
  auth: row.auth,
  username: row.username,
  ssh_public_key: row.ssh_public_key,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
