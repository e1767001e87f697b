/** What is shown in place of a page that failed or does not exist. */
import { useQueryErrorResetBoundary } from "@tanstack/react-query"
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router"
import { Button } from "./button.js"
import { Empty } from "./empty.js"
import { Problem } from "./problem.js"

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const { reset: resetQueries } = useQueryErrorResetBoundary()
  const retry = () => {
    resetQueries()
    reset()
    void router.invalidate()
  }
  return (
    <div className="page">
      <Problem error={error} action={<Button onPress={retry}>Try again</Button>} />
    </div>
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
