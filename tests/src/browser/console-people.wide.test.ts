/** People in a real browser: an invitation, a sign-in at a real provider, what a role may not do, and who answered an agent. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { startProvider } from "@superstep/control/people/testing/oidc-provider"
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { startPlatform } from "../testing/platform.js"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"
import { deployGraphs } from "./deployed-graphs.js"
import { askForRefund, refundOf } from "./desk.js"
import { checkpoints, untilNode } from "./thread-page.js"

/** Fills in the pages of the provider, which are not ours. */
async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(login)
  await page.getByPlaceholder("and password").fill("any")
  await page.getByRole("button", { name: "Sign-in" }).click()
  await page.getByRole("button", { name: "Continue" }).click()
}

test("people are invited, sign in at the provider, do what their role allows, and are named in what they did", {
  skip: noChromium,
}, async (t) => {
  await using provider = await startProvider()
  await using platform = await startPlatform({
    env: {
      SUPERSTEP_OIDC_ISSUER: provider.settings.issuer,
      SUPERSTEP_OIDC_CLIENT_ID: provider.settings.clientId,
      SUPERSTEP_OIDC_CLIENT_SECRET: provider.settings.clientSecret?.reveal() ?? "",
      SUPERSTEP_OIDC_NAME: provider.settings.name,
    },
  })
  const { url, tenant_id: tenant } = platform.credentials
  provider.serve([`${url}/v2/console/oidc/callback`])
  provider.accounts.set("ann", { email: "ann@example.com", email_verified: true, name: "Ann Ångström" })
  provider.accounts.set("bob", { email: "bob@example.com", email_verified: true, name: "Bob Berg" })
  const { deployment, ...agent } = await deployGraphs(platform, "desk", ["desk", "talk"])
  const client = new Client({ apiUrl: agent.url, defaultHeaders: agent.headers })
  await using browser = await openConsole(`${url}/`)
  await using others = await openConsole(`${url}/`)

  let admin: Page = await browser.open("sign-in")
  await t.test("an admin invites a person on the page of settings", async () => {
    await admin.getByRole("button", { name: "Sign in with Example Login" }).waitFor()
    const link = (
      await platform.api<{ url: string }>("POST", "/v2/invitations", { email: "bob@example.com", role: "admin" })
    ).body.url
    await admin.close()
    admin = await browser.open(new URL(link).pathname.slice(1) + new URL(link).hash)
    await admin.getByRole("button", { name: "Sign in with Example Login" }).click()
    await signInAtProvider(admin, "bob")
    await admin.getByText("Bob Berg").first().waitFor()
    await admin.goto(`${url}/settings?workspace=${tenant}`)
    await admin.getByRole("button", { name: "Invite" }).click()
    await admin.getByLabel("E-mail address").fill("ann@example.com")
    await admin.getByLabel("Role", { exact: true }).selectOption("run")
    await admin.getByRole("dialog").getByRole("button", { name: "Invite" }).click()
    await admin.getByText("It works once, for seven days").waitFor()
    assert.deepEqual(await accessibilityProblems(admin), [])
  })

  const link = await admin.locator(".settings-key").innerText()
  let person: Page = admin
  await t.test("the invited person signs in at the provider, and is named on the page", async () => {
    const [, path = ""] = /https?:\/\/[^/]+\/(\S+)/.exec(link) ?? []
    person = await others.open(path)
    await person.getByRole("button", { name: "Sign in with Example Login" }).click()
    await signInAtProvider(person, "ann")
    await person.getByText("Ann Ångström").first().waitFor()
    await person.goto(`${url}/settings`)
    await person.getByText("Roles are changed by an admin").waitFor()
    await admin.getByRole("button", { name: "Done" }).click()
    await admin.goto(`${url}/settings`)
    await admin.getByLabel("Role of Ann Ångström").waitFor()
  })

  const threadId = await askForRefund(client, 12)
  const threadPath = `deployments/${deployment.id}/agent/threads/${threadId}`
  await t.test("who may not answer sees the question, and cannot press", async () => {
    await person.goto(`${url}/${threadPath}`)

    await person
      .locator(".chat-question button[aria-disabled='true'], .chat-question button[disabled]")
      .first()
      .waitFor()
  })

  await t.test("who may only start runs is told what needs the role approve", async () => {
    const { thread_id: failed } = await client.threads.create({ graphId: "talk" })
    const input = { messages: [{ role: "user", content: "fail" }] }
    await client.runs.wait(failed, "talk", { input, raiseError: false })
    await person.goto(`${url}/deployments/${deployment.id}/agent/threads/${failed}`)
    await untilNode(person, "answer", "failed")
    await person.getByRole("button", { name: "Edit the message", disabled: true }).waitFor()
    assert.equal(await person.getByRole("button", { name: /^Breakpoints of/ }).count(), 0)
    await checkpoints(person).nth(1).click()
    await person.getByPlaceholder("This needs the role approve.").waitFor()

    await person.goto(`${url}/deployments/${deployment.id}/agent/runs?status=failed`)
    await person.getByRole("checkbox").click()
    await person.getByRole("button", { name: "Run 1 again", disabled: true }).focus()
    await person.getByRole("tooltip", { name: /needs the role approve/ }).waitFor()
    await person.goto(`${url}/${threadPath}`)
  })

  await t.test("with the role approve the person answers; thread and audit log name them", async () => {
    await admin.getByLabel("Role of Ann Ångström").selectOption("approve")
    await until(
      async () => {
        const { body } = await platform.api<{ resources: { email: string; role: string }[] }>("GET", "/v2/members")
        return body.resources.some(({ email, role }) => email === "ann@example.com" && role === "approve")
      },
      { what: "the new role" },
    )
    await person.reload()
    await person.locator(".chat-question").getByRole("button", { name: "Approve" }).first().click()
    assert.equal(await refundOf(client, threadId), 12)

    await person.getByText("by Ann Ångström").waitFor()
    const entries = `/v2/audit-log?resource_id=${threadId}`
    const isRecorded = async () =>
      (await platform.api<{ resources: unknown[] }>("GET", entries)).body.resources.length > 0
    await until(isRecorded, { what: "the entry of the audit log" })
    await admin.goto(`${url}/settings`)
    await admin.getByText("answered agent").waitFor()
  })

  await t.test("a removed person is out at once", async () => {
    await admin.locator("tr", { hasText: "ann@example.com" }).getByRole("button", { name: "Remove" }).first().click()
    await admin.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    await admin.getByLabel("Role of Ann Ångström").waitFor({ state: "detached" })

    await person.goto(`${url}/sign-in`)
    await person.getByRole("button", { name: "Sign in with Example Login" }).click()
    await person.getByText("Your account belongs to no workspace here.").waitFor()
  })
})
