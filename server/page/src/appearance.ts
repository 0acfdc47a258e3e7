// The theme of the page: the system's, or the other one if a person prefers it.

/** Returns the theme that is shown. */
export const themeOf = (): string =>
  document.documentElement.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** Switches between light and dark. It forgets the choice that the system makes anyway. */
export function switchTheme(): string {
  const next = themeOf() === "dark" ? "light" : "dark";
  delete document.documentElement.dataset["theme"];
  localStorage.removeItem("pickup.theme");
  if (themeOf() !== next) {
    document.documentElement.dataset["theme"] = next;
    localStorage.setItem("pickup.theme", next);
  }
  return next;
}
