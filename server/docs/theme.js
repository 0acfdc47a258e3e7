// Runs before the first paint. The colors are those of the page at /_/: what was
// chosen there, or what the system prefers.
const chosen = localStorage.getItem("pickup.theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const show = () => document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : dark.matches);
if (chosen) document.documentElement.dataset.theme = chosen;
dark.addEventListener("change", show);
show();
