/** The frame of one page: its title, what can be done there, its content. */
import { createContext, type ReactNode, useContext, useEffect } from "react"
import { Loading } from "./empty.js"

export interface PageProps {
  readonly title: string
  /** Shown before the title: where this page belongs. */
  readonly above?: ReactNode
  readonly actions?: ReactNode
  /** Lets the content use the whole width and height, as logs and threads do. */
  readonly isWide?: boolean
  readonly children: ReactNode
}

/** The title of the page of this address while it loads or has failed; undefined where only the page itself knows it. */
export const TitleContext = createContext<string | undefined>(undefined)

export function Page({ title, above, actions, isWide = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Superstep`
  }, [title])
  return (
    <div className={isWide ? "page page-wide" : "page"}>
      <header className="page-head">
        <div className="page-title">
          {above && <div className="page-above">{above}</div>}
          <h1>{title}</h1>
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** In place of a page that is loading. */
export function PageLoading() {
  const title = useContext(TitleContext)
  return title === undefined ? (
    <Loading />
  ) : (
    <Page title={title}>
      <Loading />
    </Page>
  )
}
