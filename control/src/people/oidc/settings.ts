/** The settings of the OIDC provider with which people sign in; `config.ts` reads them. */
import type { Secret, Settings } from "@superstep/toolkit/config/settings"
import { json, safeUrl, secret } from "@superstep/toolkit/config/texts"
import { z } from "zod"
import { type Role, roles } from "../../workspaces/workspace.js"

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
  oidcGroups: {
    env: "SUPERSTEP_OIDC_GROUPS",
    describe:
      'Roles by groups of the provider, as JSON by workspace and group, such as {"default": {"engineering": "deploy"}}; applied at each sign-in.',
    schema: json(
      z.record(z.string(), z.record(z.string(), z.enum(roles))),
      "expected roles by group and workspace, as JSON",
    ).default({}),
  },
  oidcGroupsClaim: {
    env: "SUPERSTEP_OIDC_GROUPS_CLAIM",
    describe: "The claim in which the provider lists a person's groups.",
    schema: z.string().default("groups"),
  },
} satisfies Settings

/** By the workspace's name and the group's. */
export type GroupRoles = Readonly<Record<string, Readonly<Record<string, Role>>>>

/** The provider, and this installation's client there. */
export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret | undefined
  readonly scopes: string
  /** For people. */
  readonly name: string
  readonly groupRoles: GroupRoles
  readonly groupsClaim: string
}

interface OidcConfig {
  readonly oidcIssuer?: string | undefined
  readonly oidcClientId?: string | undefined
  readonly oidcClientSecret?: Secret | undefined
  readonly oidcScopes: string
  readonly oidcName?: string | undefined
  readonly oidcGroups: GroupRoles
  readonly oidcGroupsClaim: string
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
        groupRoles: more.oidcGroups,
        groupsClaim: more.oidcGroupsClaim,
      }

/** Why these settings do not fit together; undefined when they do. */
export function oidcProblem({ oidcIssuer, oidcClientId, oidcGroups }: OidcConfig): string | undefined {
  if ((oidcIssuer === undefined) !== (oidcClientId === undefined))
    return "SUPERSTEP_OIDC_ISSUER and SUPERSTEP_OIDC_CLIENT_ID: set both, or neither"
  return oidcIssuer === undefined && Object.keys(oidcGroups).length > 0
    ? "SUPERSTEP_OIDC_GROUPS needs SUPERSTEP_OIDC_ISSUER: groups come from a provider"
    : undefined
}
