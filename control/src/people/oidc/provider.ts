/** Speaks with the OIDC provider: where a sign-in begins, and whom the provider has identified at its end. */
import { shownLine } from "@superstep/toolkit/text/shown-line"
import type { Configuration } from "openid-client"
import type { GroupRoles, ProviderSettings } from "./settings.js"

/** Whom a provider has identified. */
export interface Identified {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string
  /** undefined: the provider does not say. */
  readonly isEmailVerified: boolean | undefined
  readonly groups: readonly string[]
}

/** What a sign-in began with. Whoever ends it must present the same. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  /** For PKCE: the provider gives tokens only to who knows it. */
  readonly verifier: string
  readonly redirectUri: string
}

export interface Provider {
  readonly name: string
  readonly groupRoles: GroupRoles
  /** @param redirectUri  where the provider sends the browser back to @throws  the provider does not answer, or is none */
  begin(redirectUri: string): Promise<{ readonly url: string; readonly attempt: Attempt }>
  /** @param query  of the browser's return @throws  the provider refuses it, or its answer does not belong to the attempt */
  finish(attempt: Attempt, query: string): Promise<Identified>
}

const timeoutSeconds = 15
const mostChars = 200
// As in an invitation.
const mostOfEmail = 320

export function connectProvider(settings: ProviderSettings): Provider {
  let known: Promise<Configuration> | undefined
  // A provider that did not answer is asked again at the next sign-in; its keys are read again by the library.
  const configuration = () => {
    known ??= discovered(settings).catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
  return {
    name: settings.name,
    groupRoles: settings.groupRoles,
    begin: async (redirectUri) => {
      const oidc = await library()
      const attempt = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
        redirectUri,
      }
      const url = oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: "S256",
      })
      return { url: url.href, attempt }
    },
    finish: async ({ state, nonce, verifier, redirectUri }, query) => {
      const [oidc, server] = [await library(), await configuration()]
      const returned = new URL(redirectUri)
      returned.search = query
      const tokens = await oidc.authorizationCodeGrant(server, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error("the provider sent no ID token")
      // Many providers put the address into the ID token; the standard has it, and whether it is verified, at the userinfo endpoint.
      const wantsGroups = Object.keys(settings.groupRoles).length > 0 && claims[settings.groupsClaim] === undefined
      const isWhole = typeof claims.email === "string" && claims.email_verified !== undefined && !wantsGroups
      const isAsked = !isWhole && server.serverMetadata().userinfo_endpoint !== undefined
      const info = isAsked ? await oidc.fetchUserInfo(server, tokens.access_token, claims.sub) : {}
      return identified(settings, claims.sub, { ...claims, ...info })
    },
  }
}

// Imported when needed: most starts of a control plane see no sign-in for long.
const library = () => import("openid-client")

async function discovered({ issuer, clientId, clientSecret }: ProviderSettings): Promise<Configuration> {
  const oidc = await library()
  const url = new URL(issuer)
  const auth = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret.reveal())
  // The settings allow http on this machine only.
  const execute = url.protocol === "http:" ? [oidc.allowInsecureRequests] : []
  return oidc.discovery(url, clientId, undefined, auth, { execute, timeout: timeoutSeconds })
}

/** Of an ID token, or of the userinfo endpoint. */
interface Claims {
  readonly [claim: string]: unknown
  readonly email?: unknown
  readonly email_verified?: unknown
  readonly name?: unknown
  readonly preferred_username?: unknown
}

function identified({ issuer, groupsClaim }: ProviderSettings, subject: string, claims: Claims): Identified {
  const { email, email_verified: verified } = claims
  // An address that is shown otherwise than the provider says it could be taken for another one.
  if (typeof email !== "string" || email === "" || shownLine(email, mostOfEmail) !== email) {
    throw new Error("the provider says no valid e-mail address")
  }
  const name = [claims.name, claims.preferred_username, email].find((it) => typeof it === "string" && it !== "")
  return {
    issuer,
    subject,
    email,
    name: shownLine(String(name), mostChars),
    // Some providers send a text.
    isEmailVerified: verified === undefined ? undefined : verified === true || verified === "true",
    groups: [claims[groupsClaim]].flat().filter((it) => typeof it === "string"),
  }
}
