/** What is shown in place of a page that failed or does not exist. */
import { useQueryErrorResetBoundary } from "@tanstack/react-query"
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router"
import { useContext } from "react"
import { Empty } from "./empty.js"
import { FirstButton } from "./first-button.js"
import { Page, TitleContext } from "./page.js"
import { Problem } from "./problem.js"

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const { reset: resetQueries } = useQueryErrorResetBoundary()
  const retry = () => {
    resetQueries()
    reset()
    void router.invalidate()
  }
  const title = useContext(TitleContext)
  return (
    <Page title={title ?? "This page could not be shown"}>
      <Problem error={error} action={<FirstButton onPress={retry}>Try again</FirstButton>} />
    </Page>
  )
}

export function NotFound() {
  return (
    <div className="page">
      <Empty title="There is no such page" action={<Link to="/">Go to the start</Link>}>
        The address may have been mistyped, or what it showed may have been deleted.
      </Empty>
    </div>
  )
}
