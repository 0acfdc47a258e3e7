// The page: the frame around the screens.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, isSignedOut, messageOf } from "./data/api.ts";
import { failure, hasObject, load, status } from "./data/catalog.ts";
import { keepFocusIn } from "./focus.ts";
import { useFileDrop } from "./drop.ts";
import { useKeys } from "./keys.tsx";
import { dialog, isHelpOpen, isPaletteOpen } from "./dialogs.ts";
import { bundle, Lazy, loadTools } from "./lazy.tsx";
import { connection } from "./data/live.ts";
import { Messages } from "./messages.tsx";
import { closeMenu, isMenuOpen, Nav } from "./nav.tsx";
import { Overview } from "./screens/overview.tsx";
import { go, hasPanel, isUnsaved, route, screen, waiting } from "./route.ts";
import { Banners } from "./banners.tsx";
import { Table } from "./grid/table.tsx";
import { Skeleton, Button, Dialog, ErrorBox } from "./ui.tsx";

let lastObject = "";

function Screen() {
  const { path, query } = route.value,
    [name = "", id] = path;
  if (hasObject(name)) lastObject = name;
  const isObject = hasObject(name) || (name === lastObject && isUnsaved()); // what was typed stays
  if (!status.value) return failure.value === null ? <Loading /> : <Failed />;
  switch (screen.value) {
    case "overview":
      return <Overview />;
    case "new":
      return <Table key={path[2]} name={path[2] ?? ""} id={undefined} query={query} isNew />;
    case "data":
      if (!isObject) return <Table key={name} name={name} id={id} query={query} isNew={false} />;
      return (
        <main class="screen" aria-label={name}>
          <Lazy
            show={({ RecordPanel }) => (
              <RecordPanel key={name} collection={name} id={null} query="" isObject onClose={() => go("#/")} />
            )}
          />
        </main>
      );
  }
  return <Lazy show={(bundle) => <bundle.Tool key={screen.value} name={screen.value} />} wait={<Loading />} />;
}

const Loading = () => (
  <main class="screen" aria-busy="true">
    <Skeleton count={3} />
  </main>
);

const Failed = () => (
  <main class="screen">
    <h1 id="title">pickup</h1>
    <ErrorBox error={failure.value} />
    <div>
      <Button onClick={() => void load()}>Try again</Button>
    </div>
  </main>
);

/**
 * Covers the page. What was typed stays under it: the browser asks for credentials when the
 * page asks for its state.
 */
function SignedOut() {
  const [error, setError] = useState("");
  const signIn = () => {
    if (!bundle.value) return location.reload(); // nothing can be typed before it is there
    get("/_/status").catch((e: unknown) => setError(messageOf(e)));
  };
  return (
    <Dialog title="Signed out" class="whole">
      <h1>Signed out</h1>
      <p>The server no longer accepts this browser's credentials. What you have typed is kept.</p>
      <p role="alert">{error}</p>
      <Button onClick={signIn}>Sign in again</Button>
    </Dialog>
  );
}

/** The bar above the contents on a phone. */
function TopBar() {
  return (
    <header class="bar" inert={isMenuOpen.value}>
      <Button
        kind="quiet"
        icon="menu"
        label="Contents"
        aria-expanded={isMenuOpen.value}
        onClick={() => {
          isMenuOpen.value = true;
        }}
      />
      <img src="/_/page/icon.svg" alt="" width="22" height="22" />
      <strong>pickup</strong>
      <span class="grow" />
      <span class={"live " + connection.value}>
        <i />
        <span class="offscreen">{connection.value}</span>
      </span>
      <Button
        kind="quiet"
        icon="search"
        label="Find anything"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      />
    </header>
  );
}

function skipToContents(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main :is([tabindex='0'], a, button, input)")?.focus();
}

function Page() {
  useKeys();
  useFileDrop();
  const { path } = route.value;
  const title = path[0] === "_" ? (path[1] ?? "") : path.join(" ") || "overview";
  useEffect(() => {
    document.title = title + " · pickup";
  }, [title]);
  return (
    <>
      <a class="skip" href="#title" onClick={skipToContents}>
        Skip to the contents
      </a>
      <div class="frame">
        <TopBar />
        {isMenuOpen.value && <div class="backdrop" onClick={closeMenu} />}
        <Nav />
        <div class="content" inert={isMenuOpen.value}>
          <Banners />
          <div class={hasPanel.value ? "work beside" : "work"}>
            <Screen />
          </div>
        </div>
      </div>
      {isPaletteOpen.value && <Lazy show={({ Palette }) => <Palette />} />}
      {isHelpOpen.value && <Lazy show={({ KeyHelp }) => <KeyHelp />} />}
      {dialog.value}
      {waiting.value && <Lazy show={({ LeaveDialog }) => <LeaveDialog />} />}
      {isSignedOut.value && <SignedOut />}
      <Messages />
    </>
  );
}

void load().then(() => setTimeout(loadTools, 500)); // after the first records
const page = document.getElementById("page")!;
keepFocusIn(page);
render(<Page />, page);
