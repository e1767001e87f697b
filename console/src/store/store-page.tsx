/** The long-term memory of an agent: items by namespace, searched, viewed, edited, deleted. */
import { Link } from "@tanstack/react-router"
import { type ReactNode, Suspense, useDeferredValue, useState } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { Button } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { textIn, useSearchState } from "../frame/search.js"
import { Ago } from "../frame/time.js"
import { NewItem } from "./item-dialog.js"
import { ItemPanel } from "./item-panel.js"
import {
  cutText,
  foundItems,
  type ItemPlace,
  itemId,
  namespaceLimit,
  namespaceRows,
  pathIn,
  pathOf,
  placeOf,
} from "./namespaces.js"
import { itemSearch, namespaceSearch, useItems, useNamespaces } from "./store-data.js"

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  namespace: Array.isArray(raw.namespace) ? raw.namespace.map(String) : [],
  query: textIn(raw, "query") ?? "",
  item: pathIn(raw.item),
})

type Search = ReturnType<typeof searchOf>

/** A list that grows by a page; what is shown stays while the next page is read. */
function usePages() {
  const [pages, setPages] = useState(1)
  const read = useDeferredValue(pages)
  const more = (
    <Button look="quiet" isPending={read !== pages} onPress={() => setPages(pages + 1)}>
      Show more
    </Button>
  )
  return { pages: read, more }
}

export function StorePage() {
  const agent = useAgent()
  const { pages, more } = usePages()
  const namespaces = useNamespaces(pages)
  const [search, change] = useSearchState(searchOf)
  const { namespace, query, item } = search
  const isEmpty = namespaces.length === 0 && item === undefined
  const requests = [
    agentRequest(agent, "POST", "/store/items/search", itemSearch(namespace, query)),
    agentRequest(agent, "POST", "/store/namespaces", namespaceSearch()),
  ]
  const choose = (place: ItemPlace | undefined) => change({ item: place && pathOf(place) })
  const onCreated = (put: ItemPlace) => change({ namespace: [...put.namespace], item: pathOf(put), query: undefined })
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
      {isEmpty && (
        <Empty title="The store is empty">
          Graphs keep what they remember across threads here: <code>store.put(namespace, key, value)</code>.
        </Empty>
      )}
      {!isEmpty && (
        <div className="store beside">
          <Namespaces namespaces={namespaces} chosen={namespace}>
            {namespaces.length >= namespaceLimit * pages && (
              <li className="store-cut note">
                The first {namespaces.length}. {more}
              </li>
            )}
          </Namespaces>
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
              <Items search={search} onChoose={choose} />
            </Suspense>
          </div>
        </div>
      )}
    </Page>
  )
}

interface NamespacesProps {
  readonly namespaces: readonly (readonly string[])[]
  readonly chosen: readonly string[]
  /** The end of the list. */
  readonly children: ReactNode
}

function Namespaces({ namespaces, chosen, children }: NamespacesProps) {
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
            // Otherwise the link without a search counts as the present page of every search.
            activeOptions={{ exact: true }}
            aria-current={JSON.stringify(path) === key ? "true" : undefined}
          >
            {label}
          </Link>
        </li>
      ))}
      {children}
    </ul>
  )
}

interface ItemsProps {
  readonly search: Search
  readonly onChoose: (place: ItemPlace | undefined) => void
}

function Items({ search, onChoose }: ItemsProps) {
  const { namespace } = search
  // The list of the former query stays while the next one is read.
  const query = useDeferredValue(search.query)
  const { pages, more } = usePages()
  const read = useItems(namespace, query, pages)
  const items = foundItems(read, query)
  const cut = cutText(read, query, pages)
  const chosen = search.item ? placeOf(search.item) : items[0]
  const chosenId = chosen && itemId(chosen)
  return (
    <>
      {cut && (
        <p className="store-cut note">
          {cut} {more}
        </p>
      )}
      {items.length === 0 && <p className="store-none">Nothing here matches.</p>}
      <div className="store-split beside">
        <ul className="store-list" aria-label="Items">
          {items.map((item) => (
            <li key={itemId(item)}>
              <button
                type="button"
                className="pick"
                aria-current={itemId(item) === chosenId ? "true" : undefined}
                onClick={() => onChoose(item)}
              >
                <span className="pick-name">{item.key}</span>
                <span className="note">
                  {item.namespace.join(" / ")} · <Ago at={item.updated_at} />
                  {typeof item.score === "number" && <span className="number"> · {item.score.toFixed(3)}</span>}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {chosen && (
          <ItemPanel
            key={chosenId}
            place={chosen}
            listed={items.find((item) => itemId(item) === chosenId)}
            onEdit={() => onChoose(chosen)}
            onDeleted={() => onChoose(undefined)}
          />
        )}
      </div>
    </>
  )
}
