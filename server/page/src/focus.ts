// The focus: it goes to the heading of the screen when its element is gone.

let last: Element | null = null;
let timer = 0;

/** Gives the focus to the heading of the screen, unless something has it. */
export function focusScreen(): void {
  if (document.activeElement !== document.body) return;
  const heading = document.querySelector<HTMLElement>("main h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

/** Looks for elements that had the focus and were removed, such as a button whose record is gone. */
export function keepFocusIn(page: Element): void {
  addEventListener("focusin", (event) => {
    last = event.target as Element;
  });
  const look = () => {
    timer = 0;
    if (last && !last.isConnected) focusScreen();
  };
  const observer = new MutationObserver(() => {
    if (last && !last.isConnected) timer ||= window.setTimeout(look, 150); // after those who know a better place
  });
  observer.observe(page, { childList: true, subtree: true });
}
