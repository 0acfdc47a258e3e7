// The cards of the overview: how to read what the file has, and what has happened to it.
import { useEffect, useState } from "preact/hooks";
import { pathOf, readText } from "../data/api.ts";
import { collections, isReadOnly, objects, status } from "../data/catalog.ts";
import { createCollection } from "../grid/collection_menu.tsx";
import { RecentActivity } from "./recent.tsx";
import { toastError } from "../messages.tsx";
import { languages } from "../data/snippets.ts";
import { Skeleton, Button, Copy, Dialog, Empty, ErrorBox, Segments } from "../ui.tsx";
import { WriteButton } from "../write_button.tsx";

export function OverviewCards() {
  return (
    <>
      <Usage />
      <RecentActivity />
    </>
  );
}

export function EmptyFile() {
  const [name, setName] = useState("posts");
  const create = async () => {
    try {
      await createCollection(name);
    } catch (error) {
      toastError("Could not create it.", error);
    }
  };
  return (
    <Empty icon="braces" title="Nothing is served yet">
      <p>
        Add a field to the file, <span class="code">"posts": []</span>, and save it. It becomes a collection, and
        appears here at once.
      </p>
      {!isReadOnly.value && (
        <form
          class="row-of"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <input
            aria-label="Name of the collection"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <WriteButton kind="primary" onClick={() => void create()}>
            Create the collection
          </WriteButton>
        </form>
      )}
    </Empty>
  );
}

const languageNames = ["fetch", "curl"]; // Requests has more

/** How a program reads the first collection. */
function Usage() {
  const [chosen, setChosen] = useState("fetch");
  const first = collections.value[0]?.name ?? objects.value[0]?.name ?? "";
  const language = languages.find((l) => l.name === chosen) ?? languages[0]!;
  const text = language.write({ method: "GET", path: pathOf(first) }, status.value?.user);
  return (
    <section class="card wide" aria-labelledby="usage">
      <h2 id="usage">Read it</h2>
      <Segments label="Language" options={languageNames} value={chosen} onChange={setChosen}>
        <span class="grow" />
        <Copy text={() => text} />
      </Segments>
      <pre class="code" tabIndex={0} aria-label="Example">
        {text}
      </pre>
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
