// The cards of the overview: how to read what the file has, and what has happened to it.
import { useEffect, useState } from "preact/hooks";
import { readText } from "../data/api.ts";
import { collections, isReadOnly, objects } from "../data/catalog.ts";
import { NewCollection } from "../grid/new_collection.tsx";
import { Code } from "./code.tsx";
import { RecentActivity } from "./recent.tsx";
import { Skeleton, Button, Copy, Dialog, Empty, ErrorBox } from "../ui.tsx";

export function OverviewCards() {
  return (
    <>
      <Usage />
      <RecentActivity />
    </>
  );
}

/** The question with which an empty database begins. */
export function EmptyFile() {
  if (isReadOnly.value) {
    return (
      <Empty icon="braces" title="Nothing is served yet">
        <p>The database is empty, and you have read-only access.</p>
      </Empty>
    );
  }
  return (
    <section class="card first" aria-labelledby="first">
      <h2 id="first">What should it serve?</h2>
      <p class="dim">Name a collection and its fields, or paste what you have. The file can be edited by hand, too.</p>
      <NewCollection text="" />
    </section>
  );
}

/** How a program reads and changes the data. */
function Usage() {
  const first = collections.value[0]?.name ?? objects.value[0]?.name ?? "";
  return (
    <section class="card wide" aria-labelledby="usage">
      <h2 id="usage">Code</h2>
      <Code key={first} first={first} />
      <p class="links">
        <a href="/_/docs">API</a>
        <a href="/_/openapi.json">OpenAPI</a>
        <a href="/_/types.d.ts">TypeScript types</a>
      </p>
    </section>
  );
}

/** The schema that pickup schema would write, to copy: the page writes no second file. */
export function MadeSchema({ file, onClose }: { file: string; onClose: () => void }) {
  const [text, setText] = useState(""),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    readText("/_/schema.json").then(setText, setError);
  }, []);
  return (
    <Dialog title="Schema made from this data" class="wide" onClose={onClose}>
      <h2>Schema made from this data</h2>
      <p>
        The data already follows it. Save the text as <code>{file.replace(/(\.json)?$/, ".schema.json")}</code> next to
        the file, or run <code>pickup schema {file}</code>. Then every write is checked against it.
      </p>
      {error !== null ? (
        <ErrorBox error={error} />
      ) : text === "" ? (
        <Skeleton count={4} />
      ) : (
        <pre class="code rules" tabIndex={0} aria-label="Schema">
          {text}
        </pre>
      )}
      <div class="row-of end">
        <Button onClick={onClose}>Close</Button>
        {text && <Copy text={() => text}>Copy</Copy>}
      </div>
    </Dialog>
  );
}
