/** Starts the console: asks where it is served, then shows the page of the address. */
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { createConsoleRouter } from "./app.js"
import { Problem } from "./frame/problem.js"
import { applyTheme } from "./frame/theme.js"
import { isRefusal } from "./requests/client-error.js"
import { HomeContext, readHome } from "./requests/home.js"
import { createQueryClient } from "./requests/query-client.js"

const element = document.getElementById("root")
if (!element) throw new Error("the page has no element with the id root")
const root = createRoot(element, {
  // What a page shows in place of its content is reported here as well, unless it is a refusal.
  onCaughtError: (error) => {
    if (!isRefusal(error)) reportError(error)
  },
})
applyTheme()

try {
  const home = await readHome()
  const queryClient = createQueryClient()
  const router = createConsoleRouter(home, queryClient)
  root.render(
    <StrictMode>
      <HomeContext.Provider value={home}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </HomeContext.Provider>
    </StrictMode>,
  )
} catch (error) {
  root.render(<Problem error={error} next="Check that Superstep is running, then load this page again." />)
}
