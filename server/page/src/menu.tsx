// A menu: at the pointer, or below what has opened it (ARIA Authoring Practices).
import { useLayoutEffect, useRef } from "preact/hooks";
import { whyOff } from "./data/catalog.ts";
import { closeDialog, dialog } from "./dialogs.ts";
import { Icon, type IconName } from "./icons.tsx";
import { toast } from "./messages.tsx";

export interface MenuItem {
  name: string;
  icon?: IconName;
  keys?: string;
  writes?: boolean; // so it is off while nothing can be written
  run: () => void;
}

/** Shows a menu with groups of items at a place of the window. */
export function showMenu(label: string, x: number, y: number, groups: MenuItem[][]): void {
  dialog.value = (
    <Menu key={Math.random()} label={label} x={x} y={y} groups={groups.filter((group) => group.length > 0)} />
  );
}

interface MenuProps {
  label: string;
  x: number;
  y: number;
  groups: MenuItem[][];
}

function Menu({ label, x, y, groups }: MenuProps) {
  const ref = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  const items = () => [...ref.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
  useLayoutEffect(() => {
    const menu = ref.current!;
    menu.showPopover();
    menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8)) + "px";
    menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8)) + "px";
    items()[0]?.focus();
    // With popover="auto", Firefox closes the menu when the button that has opened it is released.
    const onPress = (event: PointerEvent) => {
      if (!menu.contains(event.target as Node)) close();
    };
    addEventListener("pointerdown", onPress, true);
    return () => removeEventListener("pointerdown", onPress, true);
  }, []);
  const close = () => {
    if (!ref.current) return;
    closeDialog();
    before.current?.focus({ preventScroll: true });
  };
  const run = (item: MenuItem) => {
    close();
    if (item.writes && whyOff.value) toast(whyOff.value, { bad: true });
    else item.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const list = items(),
      at = list.indexOf(document.activeElement as HTMLElement);
    const isNamed = (item: HTMLElement) => item.textContent!.toLowerCase().startsWith(event.key.toLowerCase());
    const focus = (item: HTMLElement | undefined) => item?.focus();
    if (event.key === "ArrowDown") focus(list[(at + 1) % list.length]);
    else if (event.key === "ArrowUp") focus(list.at(at - 1));
    else if (event.key === "Home") focus(list[0]);
    else if (event.key === "End") focus(list.at(-1));
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1 && event.key !== " ") focus([...list.slice(at + 1), ...list].find(isNamed));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section aria-label={label}>
      <div
        ref={ref}
        popover="manual"
        class="menu"
        role="menu"
        aria-label={label}
        onKeyDown={onKey}
        onContextMenu={(event) => event.preventDefault()}
      >
        {groups.map((group, i) => (
          <div key={i} role="group">
            {group.map((item) => (
              <button
                key={item.name}
                type="button"
                role="menuitem"
                tabIndex={-1}
                aria-disabled={item.writes && whyOff.value ? true : undefined}
                onClick={() => run(item)}
              >
                {item.icon ? <Icon name={item.icon} size={15} /> : <span class="no-icon" />}
                <span class="clip">{item.name}</span>
                {item.keys && <kbd>{item.keys}</kbd>}
              </button>
            ))}
          </div>
        ))}
      </div>
    </section>
  );
}
