/** One delivery of a git host: its headers and bytes, and its content once it is verified. Pure. */
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import type { GitEvent, Provider } from "./push.js"
import { readBitbucket } from "./read-bitbucket.js"
import { readGithub } from "./read-github.js"
import { readGitlab } from "./read-gitlab.js"
import type { Header } from "./signature.js"

export interface Delivery {
  readonly provider: Provider
  readonly header: Header
  readonly body: Uint8Array
}

/** Headers that identify a delivery, equal when it is sent again; the first present one counts. */
const idHeaders: Readonly<Record<Provider, readonly string[]>> = {
  github: ["x-github-delivery"],
  gitea: ["x-gitea-delivery", "x-forgejo-delivery"],
  // The first is newer and stays the same over retries; the second exists since GitLab 14.
  gitlab: ["idempotency-key", "x-gitlab-event-uuid"],
  bitbucket: ["x-request-uuid"],
}

/** @returns  undefined when the host sends none: then every delivery counts as new */
export const deliveryId = ({ provider, header }: Delivery): string | undefined =>
  idHeaders[provider].map(header).find((id) => id !== undefined && /^[\w.{}:-]{1,200}$/.test(id))

const eventHeaders: Readonly<Record<Provider, readonly string[]>> = {
  github: ["x-github-event"],
  gitea: ["x-gitea-event", "x-forgejo-event", "x-github-event"],
  gitlab: ["x-gitlab-event"],
  bitbucket: ["x-event-key"],
}

/** @throws InvalidInput  the body is no JSON, or does not fit this event */
export function readDelivery(delivery: Delivery): GitEvent[] {
  const { provider, header } = delivery
  const event = eventHeaders[provider].map(header).find((name) => name !== undefined)
  if (!event) {
    throw new InvalidInput([
      { path: ["header", eventHeaders[provider][0] ?? ""], message: "is required", type: "missing" },
    ])
  }
  const payload = payloadOf(delivery)
  try {
    if (provider === "bitbucket") return readBitbucket(event, payload)
    return [provider === "gitlab" ? readGitlab(event, payload) : readGithub(event, payload)]
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const problems = error.issues.map(({ path, message }) => ({
      path: ["body", ...path.map((part) => (typeof part === "symbol" ? String(part) : part))],
      message,
      type: "value_error",
    }))
    throw new InvalidInput(problems)
  }
}

function payloadOf({ header, body }: Delivery): unknown {
  const text = new TextDecoder().decode(body)
  // GitHub's other content type puts the same JSON into a form field.
  const isForm = header("content-type")?.startsWith("application/x-www-form-urlencoded") ?? false
  try {
    // Of commits and titles of others, which the database refuses with U+0000.
    return JSON.parse(toJsonbText(isForm ? (new URLSearchParams(text).get("payload") ?? "") : text))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new InvalidInput(
      [{ path: ["body"], message: "the body is not valid JSON", type: "json_invalid" }],
      "invalid_input",
    )
  }
}
