// The contents of the page: collections, objects and tools.
import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { switchTheme, themeOf } from "./appearance.ts";
import { isSignedOut, session } from "./data/api.ts";
import { collections, isReadOnly, objects, status } from "./data/catalog.ts";
import { focusScreen } from "./focus.ts";
import { Icon, type IconName } from "./icons.tsx";
import { isHelpOpen, isPaletteOpen } from "./dialogs.ts";
import { bundle, withTools } from "./lazy.tsx";
import { broken, connection } from "./data/live.ts";
import { href, route } from "./route.ts";
import { shownTools } from "./tool_list.ts";
import { Button, formatCount, isMac } from "./ui.tsx";

export const isMenuOpen = signal(false); // on a phone

/** Closes the contents, and gives the focus back to the button that opened them. */
export function closeMenu(): void {
  isMenuOpen.value = false;
  setTimeout(() => document.querySelector<HTMLElement>(".bar button")?.focus());
}

interface ItemProps {
  address: string;
  icon: IconName;
  name: string;
  isCurrent?: boolean;
  children?: ComponentChildren;
}

function Item({ address, icon, name, isCurrent = false, children }: ItemProps) {
  return (
    <li>
      <a
        href={address}
        aria-current={isCurrent ? "page" : undefined}
        onClick={() => {
          if (isMenuOpen.value) setTimeout(focusScreen, 150); // the link is hidden then
          isMenuOpen.value = false;
        }}
      >
        <Icon name={icon} />
        <span class="clip">{name}</span>
        {children}
      </a>
    </li>
  );
}

export function Nav() {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isMenuOpen.value) nav.current?.querySelector("a")?.focus();
  }, [isMenuOpen.value]);
  return (
    <nav
      ref={nav}
      class={isMenuOpen.value ? "nav shown" : "nav"}
      aria-label="Contents"
      onKeyDown={(event) => {
        if (event.key === "Escape" && isMenuOpen.value) closeMenu();
      }}
    >
      <Brand />
      {status.value && <Contents />}
      <span class="grow" />
      <Foot />
    </nav>
  );
}

function Contents() {
  const { path } = route.value;
  const isShown = (name: string) => path[0] === name || (path[1] === "new" && path[2] === name);
  return (
    <>
      <ul>
        <Item address="#/" icon="home" name="Overview" isCurrent={path.length === 0} />
      </ul>
      {collections.value.length > 0 && (
        <div class="nav-head">
          <h2>Collections</h2>
          {!isReadOnly.value && (
            <Button
              kind="quiet"
              icon="plus"
              label="New collection"
              onClick={() => {
                isMenuOpen.value = false;
                withTools((tools) => tools.showNewCollection());
              }}
            />
          )}
        </div>
      )}
      <ul>
        {collections.value.map((c) => (
          <Item key={c.name} address={href([c.name])} icon="table" name={c.name} isCurrent={isShown(c.name)}>
            <span class="n">{formatCount(c.count)}</span>
          </Item>
        ))}
      </ul>
      {objects.value.length > 0 && <h2>Objects</h2>}
      <ul>
        {objects.value.map((o) => (
          <Item key={o.name} address={href([o.name])} icon="braces" name={o.name} isCurrent={path[0] === o.name} />
        ))}
      </ul>
      <h2>Tools</h2>
      <ul>
        {shownTools().map((tool) => (
          <Item
            key={tool.screen}
            address={href(["_", tool.screen])}
            icon={tool.icon}
            name={tool.name}
            isCurrent={path[0] === "_" && path[1] === tool.screen}
          >
            <Badge screen={tool.screen} />
          </Item>
        ))}
        <Item address="/_/docs" icon="book" name="API">
          <Icon name="out" size={12} />
        </Item>
      </ul>
    </>
  );
}

/** How many things of a tool want attention. */
function Badge({ screen }: { screen: string }) {
  let n = 0;
  if (screen === "problems") n = (status.value?.findings?.count ?? 0) + (broken.value ? 1 : 0);
  else if (screen === "requests") n = bundle.value?.unseenFailures.value ?? 0;
  if (n === 0) return null;
  return (
    <span class="n bad" title={screen === "requests" ? "failed since you last looked" : ""}>
      {formatCount(n)}
    </span>
  );
}

function Brand() {
  const find = () => {
    isPaletteOpen.value = true;
    isMenuOpen.value = false;
  };
  return (
    <div class="brand">
      <img src="/_/page/icon.svg" alt="" width="22" height="22" />
      <strong>pickup</strong>
      <span class="grow" />
      <button type="button" class="button quiet find" onClick={find}>
        <Icon name="search" />
        <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
        <span class="offscreen">Find anything</span>
      </button>
    </div>
  );
}

const connectionTexts = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Reconnecting…",
};

function Foot() {
  return (
    <div class="foot">
      <span class={"live " + connection.value} role="status">
        <i />
        {isSignedOut.value ? "Signed out" : connectionTexts[connection.value]}
      </span>
      {isReadOnly.value && (
        <span class="pill">
          <Icon name="lock" size={12} />
          read-only
        </span>
      )}
      {status.value?.mode.ephemeral && <span class="pill">kept in memory</span>}
      {session.value && <span class="pill session">{session}</span>}
      <span class="grow" />
      <ThemeButton />
      <Button
        kind="quiet"
        label="Keyboard shortcuts (?)"
        onClick={() => {
          isHelpOpen.value = true;
        }}
      >
        ?
      </Button>
    </div>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(themeOf());
  return (
    <Button
      kind="quiet"
      icon={theme === "dark" ? "sun" : "moon"}
      label={theme === "dark" ? "Light" : "Dark"}
      onClick={() => setTheme(switchTheme())}
    />
  );
}
