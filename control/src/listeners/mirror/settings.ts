/** The settings of an installation that carries out the deployments of a listener; `config.ts` reads them. */

import type { Secret, Settings } from "@superstep/toolkit/config/settings"
import { httpUrl, isSafe, secret } from "@superstep/toolkit/config/texts"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { z } from "zod"

export const listenerSettings = {
  listenerUrl: {
    env: "SUPERSTEP_LISTENER_URL",
    describe:
      "Address of the control plane whose listener this installation is: it carries out that listener's deployments, and only calls out.",
    schema: httpUrl.optional(),
  },
  listenerToken: {
    env: "SUPERSTEP_LISTENER_TOKEN",
    describe: "Token (`ssl_…`) of that listener, from `POST /v2/listeners/{listener_id}/tokens`.",
    schema: secret(z.string().regex(/^ssl_[\w-]{43}$/, "expected ssl_ and 43 characters")).optional(),
  },
} satisfies Settings

/** The control plane that this installation is a listener of. */
export interface Central {
  readonly url: string
  readonly token: Secret
}

interface ListenerConfig {
  readonly listenerUrl?: string | undefined
  readonly listenerToken?: Secret | undefined
}

/** @returns  undefined when this installation is no listener */
export const centralOf = ({ listenerUrl: url, listenerToken: token }: ListenerConfig): Central | undefined =>
  url !== undefined && token !== undefined ? { url: withoutEnd(url, "/"), token } : undefined

/** Why these settings do not fit together; undefined when they do. Secrets of deployments come over this connection. */
export function listenerSettingsProblem({
  listenerUrl: url,
  listenerToken: token,
}: ListenerConfig): string | undefined {
  if (url !== undefined && token === undefined) return "SUPERSTEP_LISTENER_URL: set SUPERSTEP_LISTENER_TOKEN too"
  if (url === undefined && token !== undefined) return "SUPERSTEP_LISTENER_TOKEN: set SUPERSTEP_LISTENER_URL too"
  if (url === undefined || isSafe(url)) return undefined
  return "SUPERSTEP_LISTENER_URL: use https, since secrets come over this connection; http is only for this machine"
}
