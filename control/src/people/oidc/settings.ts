/** The settings of the OIDC provider with which people sign in; `config.ts` reads them. */
import type { Secret, Settings } from "@superstep/toolkit/config/settings"
import { safeUrl, secret } from "@superstep/toolkit/config/texts"
import { z } from "zod"

/** Entra ID's addresses for accounts of any organization, of which each may say any e-mail address. */
const isOfAnyOrganization = ({ hostname, pathname }: URL): boolean =>
  /^login\.microsoftonline\.(com|us)$|^login\.(windows|chinacloudapi|partner\.microsoftonline)\.(net|cn)$/.test(
    hostname,
  ) && /^\/(common|organizations|consumers)(\/|$)/i.test(pathname)

export const oidcSettings = {
  oidcIssuer: {
    env: "SUPERSTEP_OIDC_ISSUER",
    describe:
      "Address of the OIDC provider with which people sign in to the console; without it, the link of an invitation signs them in.",
    schema: safeUrl
      .refine(
        (text) => !isOfAnyOrganization(new URL(text)),
        "expected the address of one organization: with the tenant's id in place of common or organizations",
      )
      .optional(),
  },
  oidcClientId: {
    env: "SUPERSTEP_OIDC_CLIENT_ID",
    describe: "This installation's client id at the provider.",
    schema: z.string().optional(),
  },
  oidcClientSecret: {
    env: "SUPERSTEP_OIDC_CLIENT_SECRET",
    describe: "The client's secret; without it, the installation is a public client, which only PKCE protects.",
    schema: secret().optional(),
  },
  oidcScopes: {
    env: "SUPERSTEP_OIDC_SCOPES",
    describe: "Scopes to ask for, separated by spaces; they must give the e-mail address.",
    schema: z.string().default("openid email profile"),
  },
  oidcName: {
    env: "SUPERSTEP_OIDC_NAME",
    describe: "What the sign-in page calls the provider; by default the host of its address.",
    schema: z.string().max(100).optional(),
  },
} satisfies Settings

/** The provider, and this installation's client there. */
export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret | undefined
  readonly scopes: string
  /** For people. */
  readonly name: string
}

interface OidcConfig {
  readonly oidcIssuer?: string | undefined
  readonly oidcClientId?: string | undefined
  readonly oidcClientSecret?: Secret | undefined
  readonly oidcScopes: string
  readonly oidcName?: string | undefined
}

/** @returns  undefined where none is set */
export const providerOf = ({ oidcIssuer, oidcClientId, ...more }: OidcConfig): ProviderSettings | undefined =>
  oidcIssuer === undefined || oidcClientId === undefined
    ? undefined
    : {
        issuer: oidcIssuer,
        clientId: oidcClientId,
        clientSecret: more.oidcClientSecret,
        scopes: more.oidcScopes,
        name: more.oidcName ?? new URL(oidcIssuer).host,
      }

/** Why these settings do not fit together; undefined when they do. */
export const oidcProblem = ({ oidcIssuer, oidcClientId }: OidcConfig): string | undefined =>
  (oidcIssuer === undefined) === (oidcClientId === undefined)
    ? undefined
    : "SUPERSTEP_OIDC_ISSUER and SUPERSTEP_OIDC_CLIENT_ID: set both, or neither"
