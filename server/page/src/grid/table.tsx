// The list of a collection, with its query, and one of its records next to it.
import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isBlind, pathOf, session } from "../data/api.ts";
import { collections, hasCollection, idOf, isReadOnly, shapeFor, shapes, status } from "../data/catalog.ts";
import { CopyRequest } from "../copy_request.tsx";
import { maxColumns, useAllColumns, useShownColumns } from "./columns.ts";
import { Grid } from "./grid.tsx";
import { Icon } from "../icons.tsx";
import type { Json, Obj } from "../data/json.ts";
import { Lazy, withTools } from "../lazy.tsx";
import { authorOf, concerns, onChange, onReset, type Revision } from "../data/live.ts";
import { toast, toastError } from "../messages.tsx";
import { QueryBar } from "./query_bar.tsx";
import { readQuery, readSort, withTerm, writeQuery, writeSort, type Query, type Sort } from "../data/query.ts";
import { go, href, isUnsaved, route } from "../route.ts";
import { Rows } from "./rows.ts";
import { typedOf, type Field } from "../data/schema.ts";
import { urlOf } from "../data/snippets.ts";
import { mostChanged } from "../data/transaction.ts";
import { openForm } from "../typing.tsx";
import { Button, Copy, count, ErrorBox, formatCount, useNarrow } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";

interface TableProps {
  name: string;
  id: string | undefined;
  query: string;
  isNew: boolean; // a new record is next to the table
}

export function Table(props: TableProps) {
  const { name } = props;
  const wasThere = useRef(false); // what was typed stays if the collection is gone for a moment
  wasThere.current ||= hasCollection(name);
  if (hasCollection(name) || (wasThere.current && isUnsaved())) return <CollectionTable {...props} />;
  return (
    <Lazy
      show={({ NoCollection }) => <NoCollection key={name} name={name} />}
      wait={<main class="screen" aria-busy="true" />}
    />
  );
}

function CollectionTable({ name, id, query: written, isNew }: TableProps) {
  const shape = shapeFor(name);
  const query = useMemo(() => readQuery(written), [written]);
  const rows = useRows(name, written);
  const all = useAllColumns(rows, shape),
    columns = useShownColumns(all, shape);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [menu, setMenu] = useState<string | null>(null);
  useEffect(() => setSelected(new Set()), [rows]);

  const show = (next: Query) => go(href([name, id], writeQuery(next)));
  const open = (record: string) => go(href([name, record], route.value.query));
  const openNew = () => openForm(href(["_", "new", name], written));
  const step = (by: number) => {
    const row = rows.indexOf(id ?? ""),
      record = row < 0 ? undefined : rows.at(row + by);
    if (record) open(idOf(name, record));
  };
  const focusCell = () =>
    requestAnimationFrame(() => {
      if (document.activeElement?.closest(".grid")) return; // a key may have moved in it since
      document.querySelector<HTMLElement>("[data-cell][tabindex='0']")?.focus();
    });
  const close = () => {
    go(href([name], written));
    focusCell();
  };
  const unselect = () => {
    setSelected(new Set());
    focusCell();
  };
  const anchor = useRef(""); // the record that was selected last
  const select = async (from: number, to: number) => {
    try {
      const ids = await rows.idsOf(from, Math.min(to, from + mostChanged.value));
      setSelected((now) => new Set([...new Set([...now, ...ids])].slice(0, mostChanged.value)));
      if (to - from > mostChanged.value) toast(`At most ${formatCount(mostChanged.value)} records can be selected.`);
    } catch (error) {
      toastError("Could not select them.", error);
    }
  };
  const selectAll = () => {
    const total = rows.total.value ?? 0;
    if (selected.size >= Math.min(total, mostChanged.value)) setSelected(new Set());
    else void select(0, total);
  };
  const toggle = (record: string, isRange: boolean) => {
    const next = new Set(selected),
      from = isRange ? rows.indexOf(anchor.current) : -1,
      to = rows.indexOf(record);
    if (from >= 0 && to >= 0) return void select(Math.min(from, to), Math.max(from, to) + 1);
    if (!next.delete(record)) next.add(record);
    anchor.current = record;
    setSelected(next);
  };
  const isNarrow = useNarrow();
  const path = pathOf(name) + (written ? "?" + written : "");
  const isFiltered = query.terms.length > 0 || query.q !== "" || query.rest.length > 0;
  const isPanelOpen = id !== undefined || isNew;

  return (
    <>
      <main class="screen list" aria-labelledby="title">
        <header class="top">
          <h1 id="title">{name}</h1>
          <Total name={name} total={rows.total.value} isFiltered={isFiltered} />
          <p class="lead grow clip" title={shape.description}>
            {shape.description}
          </p>
          <RequestLine name={name} query={written} path={path} milliseconds={rows.milliseconds.value} />
        </header>
        <div class="tools">
          <QueryBar shape={shape} query={query} onChange={show} />
          {isNarrow ? (
            <SortMenu columns={all} sort={query.sort} onChange={(sort) => show({ ...query, sort })} />
          ) : (
            <Button kind="quiet" icon="columns" label="Columns" onClick={() => setMenu("")} />
          )}
          <Button
            kind="quiet"
            icon="dots"
            label="More"
            aria-haspopup="menu"
            onClick={({ currentTarget }) => withTools((tools) => tools.showCollectionMenu(currentTarget, rows, shape))}
          />
          <WriteButton kind="primary" icon="plus" onClick={openNew}>
            New<kbd>N</kbd>
          </WriteButton>
        </div>
        <UnknownSort query={query} columns={all} isLoaded={rows.sample(1).length > 0} onChange={show} />
        {rows.error.value && rows.total.value !== null ? <ErrorBox error={rows.error.value} /> : null}
        <Grid
          isReady={useReady(name)}
          rows={rows}
          shape={shape}
          columns={columns}
          sort={query.sort}
          opened={id}
          isFiltered={isFiltered}
          selected={selected}
          onSelect={toggle}
          onSelectAll={selectAll}
          onSort={(member, more) => show(sorted(query, member, more))}
          onOpen={open}
          onStep={step}
          onFilter={(member, value, without) => show(filtered(query, member, value, without))}
          onNew={openNew}
          onMenu={setMenu}
        />
        {selected.size > 0 && (
          <Lazy
            show={({ SelectionBar }) => (
              <SelectionBar rows={rows} shape={shape} selected={selected} onDone={unselect} />
            )}
          />
        )}
      </main>
      {isPanelOpen && (
        <Lazy
          show={({ RecordPanel }) => (
            <RecordPanel
              key={isNew ? "new" : "record"}
              collection={name}
              id={isNew ? null : id!}
              query={written}
              onClose={close}
              onSaved={(record: Obj) => rows.put(record)}
              onStep={step}
            />
          )}
          wait={<section class="panel" aria-busy="true" />}
        />
      )}
      {menu !== null && (
        <Lazy
          show={({ ColumnMenu }) => (
            <ColumnMenu
              shape={shape}
              all={all}
              member={menu}
              onSort={(member) => show(sorted(query, member, false))}
              onClose={() => setMenu(null)}
            />
          )}
        />
      )}
    </>
  );
}

const readyAfter = 300; // ms

/** Whether the schema of a collection is there, on which its columns depend, or is late. */
function useReady(name: string): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), readyAfter);
    return () => clearTimeout(timer);
  }, [name]);
  return isLate || shapes.value.has(name);
}

interface SortMenuProps {
  columns: Field[];
  sort: Sort[];
  onChange: (sort: Sort[]) => void;
}

/** How the list is sorted, on a phone, where it has no headers. */
function SortMenu({ columns, sort, onChange }: SortMenuProps) {
  return (
    <label class="button square sort">
      <Icon name={sort[0]?.descending ? "sortdown" : "sortup"} />
      <select
        aria-label="Sort by"
        value={sort[0] ? writeSort(sort[0]) : ""}
        onChange={({ currentTarget: { value } }) => onChange(value ? [readSort(value)] : [])}
      >
        <option value="">Not sorted</option>
        {columns.map(({ name }) => (
          <Fragment key={name}>
            <option value={name}>{name} ↑</option>
            <option value={"-" + name}>{name} ↓</option>
          </Fragment>
        ))}
      </select>
    </label>
  );
}

/** Says so if the list is sorted by a field that no record has, which sorts nothing. */
function UnknownSort({
  query,
  columns,
  isLoaded,
  onChange,
}: {
  query: Query;
  columns: Field[];
  isLoaded: boolean;
  onChange: (query: Query) => void;
}) {
  const names = new Set(columns.map((field) => field.name));
  const unknown = query.sort.filter(({ member }) => !names.has(member) && !names.has(member.split(/[./]/)[0] ?? ""));
  if (!isLoaded || unknown.length === 0 || names.size >= maxColumns) return null;
  return (
    <p class="note" role="status">
      <Icon name="alert" size={14} />
      <span>
        No record has the field <span class="code">{unknown.map((sort) => sort.member).join(", ")}</span>, so it sorts
        nothing.
      </span>
      <Button onClick={() => onChange({ ...query, sort: query.sort.filter((sort) => !unknown.includes(sort)) })}>
        Do not sort by it
      </Button>
    </p>
  );
}

/** Returns the rows of a list, which follow the changes of the collection. */
function useRows(name: string, query: string): Rows {
  const rows = useMemo(() => new Rows(name, query), [name, query]);
  useEffect(() => () => rows.close(), [rows]);
  useEffect(() => onReset(() => rows.refresh()), [rows]);
  useEffect(() => {
    // An edit of this tab leaves its row where it is until the list is requested again.
    const isOwnUpdate = (revision: Revision) =>
      authorOf(revision) === "tab" &&
      !isBlind(revision.request) &&
      revision.changes?.length === 1 &&
      revision.changes[0]?.op === "updated" &&
      !revision.undoes;
    return onChange((revisions) => {
      const last = revisions.findLast((r) => concerns(r, name) && !isOwnUpdate(r));
      if (last) rows.refresh(authorOf(last));
    });
  }, [rows]);
  return rows;
}

function sorted(query: Query, member: string, more: boolean): Query {
  const now = query.sort.find((s) => s.member === member);
  const others = more ? query.sort.filter((s) => s.member !== member) : [];
  if (now?.descending) return { ...query, sort: others };
  return { ...query, sort: [...others, { member, descending: now !== undefined }] };
}

function filtered(query: Query, member: string, value: Json | undefined, isWithout: boolean | undefined): Query {
  const others = { ...query, terms: query.terms.filter((term) => term.member !== member) };
  const own = query.terms.find((term) => term.member === member);
  const isOn = own !== undefined && (own.operator === "eq" || (own.operator === "exists" && own.value === "false"));
  const without = isWithout ?? isOn; // the second time
  if (value === undefined || value === null) {
    return withTerm(others, { member, operator: "exists", value: String(without) });
  }
  return withTerm(others, { member, operator: without ? "ne" : "eq", value: typedOf(value) });
}

function Total({ name, total, isFiltered }: { name: string; total: number | null; isFiltered: boolean }) {
  const all = collections.value.find((c) => c.name === name)?.count ?? 0;
  const text =
    total === null ? "" : isFiltered ? `${formatCount(total)} of ${formatCount(all)}` : count(total, "record");
  return (
    <span class="count" aria-live="polite">
      {text}
    </span>
  );
}

interface RequestLineProps {
  name: string;
  query: string;
  path: string;
  milliseconds: number;
}

/** The request that the table shows, to copy. Where there is no room for it, a button copies its URL. */
function RequestLine({ name, query, path, milliseconds }: RequestLineProps) {
  const request = { method: "GET", path, session: session.value };
  const canSimulate = status.value?.mode.simulate === true && !isReadOnly.value;
  return (
    <div class="request">
      <Copy label="Copy the request" text={() => urlOf(request)}>
        Copy
      </Copy>
      <span class="method get">GET</span>
      <code class="path" title={path}>
        {path}
      </code>
      <span class="faint ms">{milliseconds > 0 && milliseconds.toFixed(0) + " ms"}</span>
      <span class="row-of">
        <CopyRequest to={3} request={() => request} />
        <Button kind="quiet" onClick={() => withTools((tools) => tools.showCode(name, query))}>
          Code
        </Button>
        {canSimulate && (
          <Button
            kind="quiet"
            icon="flask"
            label="Simulate"
            aria-haspopup="menu"
            onClick={({ currentTarget }) => withTools((tools) => tools.showSimulateMenu(currentTarget, pathOf(name)))}
          />
        )}
      </span>
    </div>
  );
}
