/** For tests: a real OIDC provider (`oidc-provider`) on loopback, with its own pages for signing in, and a browser that fills them in. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Secret } from "@superstep/toolkit/config/settings"
import Provider, { errors } from "oidc-provider"
import type { ProviderSettings } from "../oidc/settings.js"

export interface ProviderAccount {
  readonly email?: string
  readonly email_verified?: unknown
  readonly name?: string
  readonly groups?: readonly string[]
  /** What its ID token says of it, beside the subject; the userinfo endpoint says all else. */
  readonly inIdToken?: object
}

export interface TestProvider extends AsyncDisposable {
  readonly settings: ProviderSettings
  /** By what people type as their login; tests change it while the provider runs. */
  readonly accounts: Map<string, ProviderAccount>
  /** @param callbacks  where it sends browsers back to; nowhere else */
  serve(callbacks: readonly string[]): void
}

const clientSecret = "secret-of-the-client"

/** It listens, and serves nothing before `serve`: the address that browsers come back to may not be known yet. */
export async function startProvider(): Promise<TestProvider> {
  const accounts = new Map<string, ProviderAccount>()
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const providerFor = (callbacks: readonly string[]) =>
    new Provider(issuer, {
      clients: [{ client_id: "superstep", client_secret: clientSecret, redirect_uris: [...callbacks] }],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
      conformIdTokenClaims: false,
      cookies: { keys: ["key-of-the-cookies-of-a-test"] },
      pkce: { required: () => true },
      findAccount: (_, id) => {
        const account = accounts.get(id)
        if (!account) throw new errors.AccessDenied("no such account")
        const { inIdToken, ...claims } = account
        return { accountId: id, claims: async (use) => ({ sub: id, ...(use === "id_token" ? inIdToken : claims) }) }
      },
    })
  const serve = (callbacks: readonly string[]) => {
    const answer = providerFor(callbacks).callback()
    server.on("request", (incoming, response) => {
      // Its pages would load a font from the internet.
      response.setHeader("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
      void answer(incoming, response)
    })
  }
  return {
    settings: {
      issuer,
      clientId: "superstep",
      clientSecret: new Secret(clientSecret),
      scopes: "openid email profile",
      name: "Example Login",
      groupRoles: {},
      groupsClaim: "groups",
    },
    accounts,
    serve,
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const redirects = new Set([302, 303])
const mostPages = 12

/**
 * Signs in at the provider as a browser does: follows its redirects with its cookies, and fills in its forms.
 * @param url  of the authorization request
 * @returns    the address that the provider sends the browser back to
 */
export async function signInAt(url: string, login: string): Promise<URL> {
  const provider = new URL(url)
  const cookies = new Map<string, string>()
  const ask = async (address: URL, form?: URLSearchParams) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const reply = await fetch(address, {
      redirect: "manual",
      headers: { cookie },
      ...(form && { method: "POST", body: form }),
    })
    for (const line of reply.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
    return reply
  }
  let at = provider
  let reply = await ask(at)
  for (let page = 0; page < mostPages; page++) {
    const location = reply.headers.get("location")
    if (redirects.has(reply.status) && location !== null) {
      at = new URL(location, at)
      if (at.origin !== provider.origin) return at
      reply = await ask(at)
      continue
    }
    const html = await reply.text()
    const [, action = ""] = /<form[^>]*action="([^"]+)"/.exec(html) ?? []
    const [, prompt = ""] = /name="prompt" value="(\w+)"/.exec(html) ?? []
    if (action === "" || prompt === "") throw new Error(`the provider shows no form: ${reply.status} ${html}`)
    reply = await ask(new URL(action, at), new URLSearchParams({ prompt, login, password: "any" }))
  }
  throw new Error("the provider does not send the browser back")
}
