/** The settings of the certificate authority; `config.ts` reads them. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { port, safeUrl } from "@superstep/toolkit/config/texts"
import { z } from "zod"

export const authoritySettings = {
  acmeEmail: {
    env: "SUPERSTEP_ACME_EMAIL",
    describe:
      "E-mail address for the account at the certificate authority; setting it accepts the authority's terms and gets certificates for host names.",
    schema: z.email("expected an e-mail address").optional(),
  },
  acmeDirectory: {
    env: "SUPERSTEP_ACME_DIRECTORY",
    describe: "Address of the authority's ACME directory.",
    schema: safeUrl.default("https://acme-v02.api.letsencrypt.org/directory"),
  },
  httpPort: {
    env: "SUPERSTEP_HTTP_PORT",
    describe:
      "With HTTPS: port of the edge for plain HTTP, which answers the certificate authority and redirects to HTTPS; port 80 of each host name must lead to it.",
    schema: port.refine((number) => number > 0, "expected a port number").optional(),
  },
} satisfies Settings

export interface Authority {
  readonly directoryUrl: string
  readonly email: string
}

interface AuthorityConfig {
  readonly acmeEmail?: string | undefined
  readonly acmeDirectory: string
  readonly httpPort?: number | undefined
  readonly tlsCert?: string | undefined
}

/** @returns  undefined when the operator has not accepted the terms of one */
export const authorityOf = ({
  acmeEmail: email,
  acmeDirectory: directoryUrl,
}: AuthorityConfig): Authority | undefined => (email === undefined ? undefined : { directoryUrl, email })

/** Why these settings do not fit together; undefined when they do. */
export function authorityProblem({ acmeEmail, httpPort, tlsCert }: AuthorityConfig): string | undefined {
  if (httpPort !== undefined && tlsCert === undefined)
    return "SUPERSTEP_HTTP_PORT: set SUPERSTEP_TLS_CERT and SUPERSTEP_TLS_KEY too; without them the agents' port speaks plain HTTP"
  if (acmeEmail !== undefined && httpPort === undefined)
    return "SUPERSTEP_ACME_EMAIL: set SUPERSTEP_HTTP_PORT too, the port to which port 80 of each host name leads; the authority verifies names there"
  return undefined
}
