/** The long-term memory of an agent: items by namespace, searched, viewed, edited, deleted. */
import { Link } from "@tanstack/react-router"
import { Suspense, useDeferredValue } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { textIn, useSearchState } from "../frame/search.js"
import { Ago } from "../frame/time.js"
import { NewItem } from "./item-dialog.js"
import { ItemPanel } from "./item-panel.js"
import { cutText, foundItems, itemId, namespaceRows } from "./namespaces.js"
import { itemSearch, namespaceSearch, useItems, useNamespaces } from "./store-data.js"

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  namespace: Array.isArray(raw.namespace) ? raw.namespace.map(String) : [],
  query: textIn(raw, "query") ?? "",
  item: textIn(raw, "item"),
})

type Search = ReturnType<typeof searchOf>

export function StorePage() {
  const agent = useAgent()
  const namespaces = useNamespaces()
  const [search, change] = useSearchState(searchOf)
  const { namespace, query } = search
  const requests = [
    agentRequest(agent, "POST", "/store/items/search", itemSearch(namespace, query)),
    agentRequest(agent, "POST", "/store/namespaces", namespaceSearch),
  ]
  const onCreated = (put: { namespace: readonly string[]; key: string }) =>
    change({ namespace: [...put.namespace], item: itemId(put), query: undefined })
  return (
    <Page
      title="Store"
      actions={
        <>
          <CurlButton requests={requests} />
          <NewItem namespace={namespace} onCreated={onCreated} />
        </>
      }
    >
      {namespaces.length === 0 && (
        <Empty title="The store is empty">
          Graphs keep what they remember across threads here: <code>store.put(namespace, key, value)</code>.
        </Empty>
      )}
      {namespaces.length > 0 && (
        <div className="store beside">
          <Namespaces namespaces={namespaces} chosen={namespace} />
          <div className="store-items card">
            <label className="store-search">
              <span className="visually-hidden">Search</span>
              <input
                type="search"
                placeholder="Search keys and values"
                title="Also by meaning, if the store has an index"
                value={query}
                onChange={({ target }) => change({ query: target.value === "" ? undefined : target.value })}
              />
            </label>
            <Suspense fallback={<Loading what="Loading the items" />}>
              <Items search={search} onChange={change} />
            </Suspense>
          </div>
        </div>
      )}
    </Page>
  )
}

function Namespaces({ namespaces, chosen }: { namespaces: readonly (readonly string[])[]; chosen: readonly string[] }) {
  const rows = [{ path: [] as readonly string[], label: "All namespaces", depth: 0 }, ...namespaceRows(namespaces)]
  const key = JSON.stringify(chosen)
  return (
    <ul className="store-namespaces card" aria-label="Namespaces">
      {rows.map(({ path, label, depth }) => (
        <li key={JSON.stringify(path)}>
          <Link
            to="."
            search={(path.length === 0 ? {} : { namespace: path }) as never}
            className="store-namespace pick cut"
            style={{ paddingLeft: 12 + depth * 14 }}
            aria-current={JSON.stringify(path) === key ? "true" : undefined}
          >
            {label}
          </Link>
        </li>
      ))}
      {namespaces.length >= namespaceSearch.limit && (
        <li className="store-cut note">Only the first {namespaceSearch.limit} are listed.</li>
      )}
    </ul>
  )
}

function Items({ search, onChange }: { search: Search; onChange: (change: { item?: string | undefined }) => void }) {
  const { namespace, item: chosenId } = search
  // The list of the former query stays while the next one is read.
  const query = useDeferredValue(search.query)
  const read = useItems(namespace, query)
  const items = foundItems(read, query)
  const cut = cutText(read, query)
  const chosen = items.find((item) => itemId(item) === chosenId) ?? items[0]
  if (!chosen) return <p className="store-none">Nothing here matches. {cut}</p>
  return (
    <div className="store-split beside">
      <ul className="store-list" aria-label="Items">
        {items.map((item) => (
          <li key={itemId(item)}>
            <button
              type="button"
              className="pick"
              aria-current={item === chosen ? "true" : undefined}
              onClick={() => onChange({ item: itemId(item) })}
            >
              <span className="pick-name">{item.key}</span>
              <span className="note">
                {item.namespace.join(" / ")} · <Ago at={item.updated_at} />
                {typeof item.score === "number" && <span className="number"> · {item.score.toFixed(3)}</span>}
              </span>
            </button>
          </li>
        ))}
        {cut && <li className="store-cut note">{cut}</li>}
      </ul>
      <ItemPanel key={itemId(chosen)} item={chosen} onDeleted={() => onChange({ item: undefined })} />
    </div>
  )
}
